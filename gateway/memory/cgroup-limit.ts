import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Of the versions of control groups: where they are, the file of the limit, and the controller that their lines name. */
const VERSIONS = [
  { root: 'sys/fs/cgroup', file: 'memory.max', controller: '' },
  { root: 'sys/fs/cgroup/memory', file: 'memory.limit_in_bytes', controller: 'memory' },
];

/**
 * The lowest memory limit of the process's own control group and of those above it, in bytes: of a container, or of a
 * service (`MemoryMax=` of systemd). Infinity: none.
 */
export function cgroupLimit(base = '/'): number {
  const groups = read(join(base, 'proc/self/cgroup'))
    .split('\n')
    .map((line) => line.split(':'));
  let limit = Infinity;
  for (const { root, file, controller } of VERSIONS) {
    // In a container, the path may be that of the host, which is not there. The root is always read.
    const own = groups.find(([, controllers = 'none']) => controllers.split(',').includes(controller))?.slice(2);
    for (let path = join('/', own?.join(':') ?? ''); ; path = dirname(path)) {
      const bytes = Number(read(join(base, root, path, file)));
      if (bytes > 0) limit = Math.min(limit, bytes);
      if (path === '/') break;
    }
  }
  return limit;
}

/** Empty: there is no such file. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
