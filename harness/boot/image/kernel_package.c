#define _GNU_SOURCE
#include "harness/boot/image/kernel_package.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/host/folder/cache.h"

static int
is_package(const struct dirent *entry)
{
	return fnmatch("linux-image-6.1.*-cloud-amd64_*.deb", entry->d_name,
		   0) == 0;
}

int
kernel_package_find(char path[TREE_PATH_BYTES], struct tz_error *err)
{
	struct dirent **list = NULL;
	struct cache packages;
	int error = cache_set(&packages, NULL, "packages", 0, err);
	int count;

	if (error != 0)
		return error;
	count = scandir(packages.path, &list, is_package, versionsort);
	if (count <= 0)
		error = tz_error(err, TZ_ENOENT,
		    "no kernel package in %s: name one with --kernel, for "
		    "instance from `apt-get download "
		    "linux-image-6.1.0-56-cloud-amd64`",
		    packages.path);
	else if (snprintf(path, TREE_PATH_BYTES, "%s/%s", packages.path,
		     list[count - 1]->d_name) >= TREE_PATH_BYTES)
		error = tz_error(err, TZ_EUSAGE, "%s/%s: the path is too long",
		    packages.path, list[count - 1]->d_name);
	for (int i = 0; i < count; i++)
		free(list[i]);
	free(list);
	return error;
}
