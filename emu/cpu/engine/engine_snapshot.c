/*
 * Copies of an engine's state: in this process, and packed for another one.
 */
#include "emu/cpu/engine/engine_state.h"

#include <stdlib.h>

struct engine_snapshot {
	uc_context *state, *ring0;
};

struct engine_snapshot *
engine_snapshot_take(struct engine *engine)
{
	struct engine_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (snapshot == NULL)
		return NULL;
	if (uc_context_alloc(engine->uc, &snapshot->state) != UC_ERR_OK ||
	    uc_context_alloc(engine->uc, &snapshot->ring0) != UC_ERR_OK) {
		engine_snapshot_free(snapshot);
		return NULL;
	}
	/* A context can only be copied through the engine. */
	TZ_ASSERT(uc_context_save(engine->uc, snapshot->state) == UC_ERR_OK);
	TZ_ASSERT(uc_context_restore(engine->uc, engine->ring0) == UC_ERR_OK);
	TZ_ASSERT(uc_context_save(engine->uc, snapshot->ring0) == UC_ERR_OK);
	TZ_ASSERT(uc_context_restore(engine->uc, snapshot->state) == UC_ERR_OK);
	return snapshot;
}

void
engine_snapshot_free(struct engine_snapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	if (snapshot->state != NULL)
		uc_context_free(snapshot->state);
	if (snapshot->ring0 != NULL)
		uc_context_free(snapshot->ring0);
	free(snapshot);
}

void
engine_snapshot_apply(
    struct engine *engine, const struct engine_snapshot *snapshot)
{
	TZ_ASSERT(uc_context_restore(engine->uc, snapshot->ring0) == UC_ERR_OK);
	TZ_ASSERT(uc_context_save(engine->uc, engine->ring0) == UC_ERR_OK);
	TZ_ASSERT(uc_context_restore(engine->uc, snapshot->state) == UC_ERR_OK);
}

size_t
engine_packed_bytes(struct engine *engine)
{
	return 2 * engine_context_bytes(engine);
}

/* The difference of FROM to a new engine's context; of a difference, the context. */
static void
differ(struct engine *engine, uint8_t *to, const uint8_t *from)
{
	for (size_t i = 0; i < engine_context_bytes(engine); i++)
		to[i] = from[i] ^ engine->fresh[i];
}

/* The engine lays out a context in one piece of memory: uc_context_size(3). */
bool
engine_snapshot_pack(struct engine *engine,
    const struct engine_snapshot *snapshot, uint8_t *bytes)
{
	struct engine_snapshot *now = engine_snapshot_take(engine);
	uc_context *const parts[] = { snapshot->state, snapshot->ring0 };

	if (now == NULL)
		return false;
	for (size_t i = 0; i < TZ_ARRAY_LEN(parts); i++) {
		TZ_ASSERT(
		    uc_context_restore(engine->uc, parts[i]) == UC_ERR_OK);
		TZ_ASSERT(
		    uc_context_save(engine->uc, engine->scratch) == UC_ERR_OK);
		differ(engine, bytes + i * engine_context_bytes(engine),
		    (const uint8_t *)engine->scratch);
	}
	engine_snapshot_apply(engine, now);
	engine_snapshot_free(now);
	return true;
}

struct engine_snapshot *
engine_snapshot_unpack(struct engine *engine, const uint8_t *bytes)
{
	struct engine_snapshot *now = engine_snapshot_take(engine);
	struct engine_snapshot *snapshot = engine_snapshot_take(engine);

	if (now == NULL || snapshot == NULL) {
		engine_snapshot_free(now);
		engine_snapshot_free(snapshot);
		return NULL;
	}
	for (int i = 0; i < 2; i++) {
		differ(engine, (uint8_t *)engine->scratch,
		    bytes + (size_t)i * engine_context_bytes(engine));
		TZ_ASSERT(uc_context_restore(engine->uc, engine->scratch) ==
		    UC_ERR_OK);
		TZ_ASSERT(uc_context_save(engine->uc,
			      i == 0 ? snapshot->state : snapshot->ring0) ==
		    UC_ERR_OK);
	}
	engine_snapshot_apply(engine, now);
	engine_snapshot_free(now);
	return snapshot;
}
