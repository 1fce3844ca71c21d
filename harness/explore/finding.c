/*
 * What a story holds in memory.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/explore/finding.h"

void
finding_story_free(struct finding_story *story)
{
	free(story->event);
	free(story->event_place);
	free(story->span);
	free(story->tick);
	free(story->passing_event);
	free(story->console);
	memset(story, 0, sizeof(*story));
}
