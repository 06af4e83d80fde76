import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { cgroupCores, cgroupLimit } from '../../gateway/memory/cgroup-limit.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function limitWith(files: Record<string, string>): number {
  return cgroupLimit(folderWith(files));
}

function coresWith(files: Record<string, string>): number {
  return cgroupCores(folderWith(files));
}

function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'cgroup-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
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

describe('the CPU quota of the control group', () => {
  it('is the lowest of the own group and those above it, in cores', () => {
    const cores = coresWith({
      'proc/self/cgroup': '0::/a/b\n',
      'sys/fs/cgroup/a/b/cpu.max': 'max 100000\n',
      'sys/fs/cgroup/a/cpu.max': '250000 100000\n',
      'sys/fs/cgroup/cpu.max': '400000 100000\n',
    });
    expect(cores).toBe(2.5);
  });

  it('is read from the first version, too', () => {
    const files = { 'cpu.cfs_quota_us': '50000\n', 'cpu.cfs_period_us': '100000\n' };
    const own = { 'proc/self/cgroup': '5:cpu,cpuacct:/x\n0::/y\n' };
    const inGroup = Object.entries(files).map(([name, text]) => [`sys/fs/cgroup/cpu/x/${name}`, text]);
    const above = { 'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n', 'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n' };
    expect(coresWith({ ...own, ...above, ...(Object.fromEntries(inGroup) as Record<string, string>) })).toBe(0.5);
  });

  it('is infinite if there is none', () => {
    expect(coresWith({})).toBe(Infinity);
  });
});
