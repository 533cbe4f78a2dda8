// SPDX-License-Identifier: Apache-2.0
#include "vfsmend/cli.h"

int main(int argc, char** argv) { return vfsmend::tool_main(argc, argv, vfsmend::process_io()); }
