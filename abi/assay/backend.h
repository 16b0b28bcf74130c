/* assay/backend.h: the one header that a vendor needs to be tested by Assay.
 *
 * A backend is a shared library that exports
 *
 *     const assay_api* assay_get_api(void);
 *
 * The returned table is static, owned by the backend and never changes. Every struct starts with
 * `struct_size`, set by whoever fills the struct to the sizeof it was compiled with; whoever reads it must
 * not touch members beyond it, and treats members beyond it, and null function pointers marked "may be null",
 * as absent. Members marked "out" are written by the callee. Strings are UTF-8, NUL-terminated and, unless
 * said otherwise, live as long as the object that gave them. All sizes are bytes, all times are seconds, all
 * strides are elements.
 *
 * Versions: a backend works with a harness if the majors are equal. Within a major, minors only append
 * members. 1.0  first version.
 *          1.1  collective: bytes that each rank sent and received, and the algorithm.
 *          1.2  execute_eager: whether the node was compiled for it, and why.
 *
 * Threads: the harness calls one assay_device from one thread at a time.
 */
#ifndef ASSAY_BACKEND_H_
#define ASSAY_BACKEND_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_ABI_MAJOR 1
#define ASSAY_ABI_MINOR 2

/* Opaque handles, owned by the backend. */
typedef struct assay_device assay_device;
typedef struct assay_buffer assay_buffer;
typedef struct assay_executable assay_executable;
typedef struct assay_error assay_error;
/* Opaque handle, owned by the harness: one graph node, read through assay_node_api. */
typedef struct assay_node assay_node;

typedef enum assay_dtype {
  ASSAY_BOOL = 1, /* one byte, 0 or 1 */
  ASSAY_U8 = 2,
  ASSAY_I8 = 3,
  ASSAY_I16 = 4,
  ASSAY_I32 = 5,
  ASSAY_I64 = 6,
  ASSAY_F8E4M3FN = 7,
  ASSAY_F8E5M2 = 8,
  ASSAY_F8E4M3 = 9, /* non-OCP, IEEE-like, maximum 240 */
  ASSAY_F16 = 10,
  ASSAY_BF16 = 11,
  ASSAY_F32 = 12,
  ASSAY_F64 = 13,
  ASSAY_C64 = 14, /* re, im */
  ASSAY_C128 = 15
} assay_dtype;

typedef enum assay_code {
  ASSAY_INVALID_ARGUMENT = 1, /* the request contradicts this header or the operator's schema */
  ASSAY_UNSUPPORTED = 2,      /* understood, but this backend does not do it */
  ASSAY_OUT_OF_MEMORY = 3,
  ASSAY_COMPILE_ERROR = 4,
  ASSAY_EXECUTION_ERROR = 5, /* the device trapped or failed */
  ASSAY_INTERNAL = 6
} assay_code;

/* Why a node does not run on the device; the harness records it with every fallback. */
typedef enum assay_reason {
  ASSAY_REASON_NONE = 0,
  ASSAY_REASON_OPERATOR = 1,      /* operator not implemented */
  ASSAY_REASON_DTYPE = 2,         /* operator implemented, dtype not */
  ASSAY_REASON_SHAPE = 3,         /* rank, size or layout */
  ASSAY_REASON_ARGUMENT = 4,      /* value of an attribute */
  ASSAY_REASON_DYNAMIC_SHAPE = 5, /* result shape depends on data */
  ASSAY_REASON_COMPLEX = 6,
  ASSAY_REASON_FLOAT64 = 7,
  ASSAY_REASON_MEMORY = 8,
  ASSAY_REASON_POLICY = 9 /* could, but is configured not to */
} assay_reason;

typedef struct assay_tensor_meta {
  size_t struct_size;
  int32_t dtype; /* assay_dtype */
  int32_t rank;
  const int64_t* sizes; /* rank entries; -1: depends on data */
} assay_tensor_meta;

typedef enum assay_argument_kind {
  ASSAY_ARG_NONE = 0,
  ASSAY_ARG_TENSOR = 1,      /* count 1, ints[0]: number among the node's inputs */
  ASSAY_ARG_TENSOR_LIST = 2, /* ints: numbers among the node's inputs, -1 for None */
  ASSAY_ARG_INT = 3,         /* ints[0] */
  ASSAY_ARG_INT_LIST = 4,
  ASSAY_ARG_FLOAT = 5, /* floats[0] */
  ASSAY_ARG_FLOAT_LIST = 6,
  ASSAY_ARG_BOOL = 7, /* ints[0] */
  ASSAY_ARG_BOOL_LIST = 8,
  ASSAY_ARG_STRING = 9,  /* text */
  ASSAY_ARG_DTYPE = 10,  /* ints[0]: assay_dtype */
  ASSAY_ARG_KEYWORD = 11 /* text: device, layout, memory_format; without effect */
} assay_argument_kind;

typedef struct assay_argument {
  size_t struct_size;
  const char* name; /* out: as in the PyTorch schema */
  int32_t kind;     /* out: assay_argument_kind */
  int32_t reserved;
  size_t count;         /* out: entries of ints or floats */
  const int64_t* ints;  /* out */
  const double* floats; /* out */
  const char* text;     /* out */
} assay_argument;

/* Accessors of a node, given to the backend at creation. Only arguments present in the graph are listed; the
 * others have the schema's default. */
typedef struct assay_node_api {
  size_t struct_size;
  const char* (*name)(const assay_node*);
  const char* (*op)(const assay_node*);     /* "aten::add.Tensor" */
  const char* (*schema)(const assay_node*); /* "aten::add.Tensor(Tensor self, ...) -> Tensor" */
  const char* (*source)(const assay_node*); /* "model.py:12" or "" */
  size_t (*argument_count)(const assay_node*);
  /* 0, or -1 if `i` is out of range. */
  int32_t (*argument)(const assay_node*, size_t i, assay_argument* out);
  size_t (*input_count)(const assay_node*);
  int32_t (*input)(const assay_node*, size_t i, assay_tensor_meta* out);
  size_t (*output_count)(const assay_node*);
  int32_t (*output)(const assay_node*, size_t i, assay_tensor_meta* out);
  /* The node as a canonical one-node graph in catalogue JSON: equal signatures give equal bytes. */
  const char* (*json)(const assay_node*, size_t* size /* out */);
} assay_node_api;

/* Errors. */
typedef struct assay_error_info {
  size_t struct_size;
  int32_t code;        /* out: assay_code */
  int32_t reason;      /* out: assay_reason */
  const char* message; /* out: one sentence or more */
} assay_error_info;

typedef struct assay_option {
  size_t struct_size;
  const char* key;
  const char* value;
} assay_option;

typedef struct assay_create_args {
  size_t struct_size;
  const assay_node_api* node_api; /* outlives the device */
  const char* target;             /* "trn2", or "" for the default; what follows ':' in --backend */
  const assay_option* options;    /* option_count entries, each of options[0].struct_size bytes */
  size_t option_count;
  const char* cache_dir; /* compile cache, or null: no cache on disk */
  uint64_t seed;
  assay_device* device; /* out */
} assay_create_args;

typedef struct assay_description {
  size_t struct_size;
  const char* name;          /* out: "trainium" */
  const char* version;       /* out: of the backend */
  const char* device;        /* out: "trn2, 1 NeuronCore-v3 (simulated)" */
  const char* contract_json; /* out: abi/contract.schema.json */
  uint64_t memory_bytes;     /* out: device memory, 0 if unlimited */
  int32_t simulated;         /* out: 1 if counters give simulated cycles and seconds */
  int32_t deterministic;     /* out: 1 if equal inputs give equal bits */
} assay_description;

typedef struct assay_supports_args {
  size_t struct_size;
  assay_device* device;
  const assay_node* node;
  int32_t supported;   /* out: 1 or 0 */
  int32_t native;      /* out: 1 engines, 2 a documented software routine of the device (GpSimd) */
  int32_t reason;      /* out: assay_reason */
  const char* message; /* out: why not; lives until the next call on this device */
} assay_supports_args;

typedef struct assay_buffer_create_args {
  size_t struct_size;
  assay_device* device;
  assay_tensor_meta meta; /* contents after creation are undefined */
  assay_buffer* buffer;   /* out */
} assay_buffer_create_args;

/* Packed, row-major, little-endian host bytes; `size` must equal the buffer's. */
typedef struct assay_copy_args {
  size_t struct_size;
  assay_device* device;
  assay_buffer* buffer;
  void* host; /* read by copy_to_device, written by copy_to_host */
  size_t size;
} assay_copy_args;

typedef enum assay_cache_hit {
  ASSAY_CACHE_MISS = 0,
  ASSAY_CACHE_DISK = 1,
  ASSAY_CACHE_MEMORY = 2
} assay_cache_hit;

/* Runs one node. Outputs are buffers of the node's output metas, created by the harness; where an entry is
 * null on entry (shape depends on data) the backend creates it. Outputs never alias inputs. */
typedef struct assay_eager_args {
  size_t struct_size;
  assay_device* device;
  const assay_node* node;
  assay_buffer* const* inputs;
  size_t input_count;
  assay_buffer** outputs; /* in or out */
  size_t output_count;
  /* Since 1.2. Out: assay_cache_hit, ASSAY_CACHE_MISS if what ran was compiled for this node, be it now or
   * when the device was asked whether it supports it. Left alone by backends that do not compile nodes. */
  int32_t cache_hit;
  const char* miss_reason; /* out: as in assay_compile_args; lives until the next call on this device */
} assay_eager_args;

typedef struct assay_compile_args {
  size_t struct_size;
  assay_device* device;
  const char*
      graph_json; /* catalogue JSON without weights: parameters are inputs, in the graph's input order */
  size_t graph_json_size;
  assay_executable* executable; /* out */
  int32_t cache_hit;            /* out: assay_cache_hit */
  uint64_t artifact_bytes;      /* out */
  const char* miss_reason;      /* out: "", or why it was compiled again ("new shape", "version", ...) */
  const char* diagnostics;      /* out: text, one line each; lives as long as the executable */
} assay_compile_args;

typedef struct assay_execute_args {
  size_t struct_size;
  assay_device* device;
  assay_executable* executable;
  assay_buffer* const* inputs;
  size_t input_count;
  assay_buffer** outputs;
  size_t output_count;
} assay_execute_args;

/* Totals since the device was created; the harness takes differences. 0 where the device cannot tell. */
typedef struct assay_counters {
  size_t struct_size;
  assay_device* device;
  uint64_t cycles;        /* out: of the device's base clock */
  double device_seconds;  /* out: time on the device, launches included; simulated if description.simulated */
  uint64_t instructions;  /* out */
  uint64_t peak_bytes;    /* out: device memory, highest so far */
  uint64_t compiles;      /* out */
  uint64_t memory_hits;   /* out */
  uint64_t disk_hits;     /* out */
  double compile_seconds; /* out: host time spent compiling */
  uint64_t bytes_to_device; /* out */
  uint64_t bytes_to_host;   /* out */
  uint64_t nodes_executed;  /* out: the harness compares it with what it asked for */
} assay_counters;

typedef struct assay_profile_args {
  size_t struct_size;
  assay_device* device;
  int32_t enable;          /* 1: start recording; 0: stop and return the events */
  const char* events_json; /* out: Chrome trace events, JSON array; lives until the next call */
  size_t events_json_size; /* out */
} assay_profile_args;

typedef struct assay_collective_args {
  size_t struct_size;
  assay_device* const* ranks; /* rank_count devices that take part, in rank order */
  size_t rank_count;
  /* The calls of all ranks as one operator ranks::*, whose i-th input and output are those of the i-th entry
   * of `ranks` (of send_recv: the sender's, then the receiver's). docs/distributed.md describes them. */
  const assay_node* node;
  assay_buffer* const* inputs; /* one for each entry of `ranks`, on its device */
  assay_buffer** outputs;      /* the same */
  /* Since 1.1. May be null; out: payload bytes that each entry of `ranks` sent to and received from others.
   */
  uint64_t* sent;
  uint64_t* received;
  const char* algorithm; /* out: "ring", null if the backend does not say; lives as long as the plug-in */
  /* out: bytes that the algorithm moves beyond the fewest there can be (docs/distributed.md), by its closed
   * form */
  uint64_t staged;
} assay_collective_args;

/* Functions return null, or an error that the caller destroys with error_destroy. */
typedef struct assay_api {
  size_t struct_size;
  int32_t abi_major;
  int32_t abi_minor;

  void (*error_info)(const assay_error*, assay_error_info* out);
  void (*error_destroy)(assay_error*);

  assay_error* (*create)(assay_create_args*);
  void (*destroy)(assay_device*);
  assay_error* (*describe)(assay_device*, assay_description* out);
  assay_error* (*supports)(assay_supports_args*);

  assay_error* (*buffer_create)(assay_buffer_create_args*);
  void (*buffer_destroy)(assay_buffer*);
  /* Current meta: needed for buffers that the backend created. */
  assay_error* (*buffer_meta)(assay_buffer*, assay_tensor_meta* out);
  assay_error* (*copy_to_device)(assay_copy_args*);
  assay_error* (*copy_to_host)(assay_copy_args*);

  assay_error* (*execute_eager)(assay_eager_args*);

  assay_error* (*compile)(assay_compile_args*);  /* may be null: no compile mode */
  assay_error* (*execute)(assay_execute_args*);  /* may be null with compile */
  void (*executable_destroy)(assay_executable*); /* may be null with compile */

  assay_error* (*counters)(assay_counters*);          /* may be null */
  assay_error* (*profile)(assay_profile_args*);       /* may be null */
  assay_error* (*collective)(assay_collective_args*); /* may be null */
} assay_api;

typedef const assay_api* (*assay_get_api_fn)(void);
#define ASSAY_GET_API_SYMBOL "assay_get_api"

#if defined(_WIN32)
#define ASSAY_EXPORT __declspec(dllexport)
#else
#define ASSAY_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ASSAY_BACKEND_H_ */
