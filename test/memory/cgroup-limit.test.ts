import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { cgroupLimit } from '../../gateway/memory/cgroup-limit.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function limitWith(files: Record<string, string>): number {
  const folder = mkdtempSync(join(tmpdir(), 'cgroup-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return cgroupLimit(folder);
}

describe('the limit of the control group', () => {
  it.each([
    ['of a service', { 'sys/fs/cgroup/system.slice/gatehouse.service/memory.max': '536870912\n' }],
    ['of the slice of a service', { 'sys/fs/cgroup/system.slice/memory.max': '536870912\n' }],
    ['of a container, whose root it is', { 'sys/fs/cgroup/memory.max': '536870912\n' }],
  ])('is that %s', (_name, files) => {
    const own = { 'proc/self/cgroup': '0::/system.slice/gatehouse.service\n' };
    expect(limitWith({ ...own, ...files })).toBe(536_870_912);
  });

  it('is the lowest of all', () => {
    const limit = limitWith({
      'proc/self/cgroup': '0::/a/b\n',
      'sys/fs/cgroup/a/b/memory.max': 'max\n',
      'sys/fs/cgroup/a/memory.max': '1000\n',
      'sys/fs/cgroup/memory.max': '2000\n',
    });
    expect(limit).toBe(1_000);
  });

  it('is read from the first version, too', () => {
    const limit = limitWith({
      'proc/self/cgroup': '5:cpu,cpuacct:/x\n4:memory:/a\n0::/y\n',
      'sys/fs/cgroup/memory/a/memory.limit_in_bytes': '3000\n',
      'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
    });
    expect(limit).toBe(3_000);
  });

  it('is infinite if there is none', () => {
    expect(limitWith({})).toBe(Infinity);
  });
});
