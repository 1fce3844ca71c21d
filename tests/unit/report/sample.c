/*
 * Writes a report of made-up findings into a folder, for the test of the pages in a
 * browser and for eyes.
 * usage: sample DIRECTORY
 */
#include "fixture.h"

int
main(int argc, char **argv)
{
	static struct finding_timeline timeline[FIXTURE_COUNT];
	static struct finding_summary summary;
	struct tz_error err;
	int error;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	fixture_summary(&summary);
	for (int i = 0; i < FIXTURE_COUNT; i++)
		fixture_story((enum fixture_kind)i, &timeline[i]);
	error = report_write_all(argv[1], &summary, timeline, &err);
	if (error != 0)
		fprintf(stderr, "%s\n", err.text);
	for (int i = 0; i < FIXTURE_COUNT; i++)
		finding_timeline_free(&timeline[i]);
	report_summary_free(&summary);
	return error != 0;
}
