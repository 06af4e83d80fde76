import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The lowest memory limit of the process's own control group and of those above it, in bytes: of a container, or of a
 * service (`MemoryMax=` of systemd). Infinity: none.
 */
export function cgroupLimit(base = '/'): number {
  return Math.min(
    ...groupsOf(base).map((group) => bytesIn(join(group, 'memory.max'))),
    ...groupsOf(base, 'memory').map((group) => bytesIn(join(group, 'memory.limit_in_bytes'))),
  );
}

/** The lowest CPU quota of those groups, in cores: `limits.cpu` of Kubernetes, `CPUQuota=` of systemd. Infinity: none. */
export function cgroupCores(base = '/'): number {
  return Math.min(
    ...groupsOf(base).map((group) => {
      const [quota, period] = read(join(group, 'cpu.max')).split(' ');
      return coresOf(quota, period);
    }),
    ...groupsOf(base, 'cpu').map((group) =>
      coresOf(read(join(group, 'cpu.cfs_quota_us')), read(join(group, 'cpu.cfs_period_us'))),
    ),
  );
}

/**
 * The folders of the process's own group and of those above it.
 * @param controller of version 1 of control groups, which has a folder for each. Default: version 2
 */
function groupsOf(base: string, controller = ''): string[] {
  const lines = read(join(base, 'proc/self/cgroup'))
    .split('\n')
    .map((line) => line.split(':'));
  // In a container, the path may be that of the host, which is not there. The root is always read.
  const own = lines.find(([, controllers = 'none']) => controllers.split(',').includes(controller))?.slice(2);
  const folders: string[] = [];
  for (let path = join('/', own?.join(':') ?? ''); ; path = dirname(path)) {
    folders.push(join(base, 'sys/fs/cgroup', controller, path));
    if (path === '/') return folders;
  }
}

/** Bytes in a file; `max`: no limit. */
function bytesIn(file: string): number {
  const bytes = Number(read(file));
  return bytes > 0 ? bytes : Infinity;
}

/** `max`, or -1: no quota. */
function coresOf(quota = '', period = ''): number {
  const cores = Number(quota) / Number(period);
  return cores > 0 ? cores : Infinity;
}

/** Text of a file; empty: there is no such file. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}
