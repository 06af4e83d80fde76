import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FolderWatcher } from '../../gateway/network-files/watch-folder.ts';
import { eventually, staysTrueFor } from '../support/eventually.ts';
import { scenarioPause } from '../support/scenario-pause.ts';

/** Time longer than any test takes, so that only file-system events report changes. */
const never = 3_600_000;

let base: string;
let folder: string;
let changeCount: number;
let watcher: FolderWatcher | undefined;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'gatehouse-watch-'));
  folder = join(base, 'networks');
  mkdirSync(folder);
  writeFileSync(join(folder, 'a.yaml'), 'one');
});
afterEach(() => {
  watcher?.close();
  rmSync(base, { recursive: true });
});

/** Starts a watcher and waits for its first call. */
async function watch(checkIntervalMs: number, settleMs = 20, otherFiles: string[] = []): Promise<void> {
  changeCount = 0;
  watcher = new FolderWatcher(folder, () => changeCount++, { settleMs, checkIntervalMs, otherFiles: () => otherFiles });
  await eventually(() => changeCount === 1, 5_000);
}

/** Expects exactly one reported change. */
async function expectOneChange(): Promise<void> {
  await eventually(() => changeCount === 2, 5_000);
  await staysTrueFor(100, () => changeCount === 2);
}

const changes: Record<string, () => void> = {
  'a file is written': () => {
    writeFileSync(join(folder, 'a.yaml'), 'two');
  },
  'a file is renamed into place, as editors do': () => {
    writeFileSync(join(folder, '.a.yaml.swp'), 'two');
    renameSync(join(folder, '.a.yaml.swp'), join(folder, 'a.yaml'));
  },
  'a file is added': () => {
    writeFileSync(join(folder, 'b.yaml'), 'new');
  },
  'a file is removed': () => {
    rmSync(join(folder, 'a.yaml'));
  },
};

describe('a watcher of the network files', () => {
  it.each(Object.entries(changes))('reports when %s, by a file-system event', async (_, change) => {
    await watch(never);
    change();
    await expectOneChange();
  });

  it('reports when Kubernetes replaces the target of `..data`', async () => {
    rmSync(join(folder, 'a.yaml'));
    for (const [version, text] of ['one', 'two'].entries()) {
      mkdirSync(join(folder, `..v${version}`));
      writeFileSync(join(folder, `..v${version}`, 'a.yaml'), text);
    }
    symlinkSync('..v0', join(folder, '..data'));
    symlinkSync('..data/a.yaml', join(folder, 'a.yaml'));
    await watch(never);
    symlinkSync('..v1', join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    await expectOneChange();
  });

  it('reports a change in the target of a symbolic link, which has no file-system event', async () => {
    writeFileSync(join(base, 'elsewhere'), 'one');
    symlinkSync(join(base, 'elsewhere'), join(folder, 'b.yaml'));
    await watch(50);
    writeFileSync(join(base, 'elsewhere'), 'two');
    await expectOneChange();
  });

  it('reports a change of another file, such as one with a credential', async () => {
    writeFileSync(join(base, 'token'), 'one');
    await watch(50, 20, [join(base, 'token')]);
    writeFileSync(join(base, 'token'), 'two');
    await expectOneChange();
  });

  it('reports when another folder replaces it, and watches the new folder', async () => {
    await watch(50);
    mkdirSync(join(base, 'next'));
    writeFileSync(join(base, 'next', 'a.yaml'), 'one');
    renameSync(folder, join(base, 'before'));
    renameSync(join(base, 'next'), folder);
    await expectOneChange();
    writeFileSync(join(folder, 'a.yaml'), 'two');
    await eventually(() => changeCount === 3, 5_000);
  });

  it('reports once the files are unchanged for the settle time', async () => {
    await watch(never, 1_000);
    for (let step = 0; step < 10; step++) {
      writeFileSync(join(folder, 'a.yaml'), 'x'.repeat(step));
      await scenarioPause(20);
    }
    expect(changeCount).toBe(1);
    await expectOneChange();
  });

  it('does not report other files', async () => {
    await watch(20);
    writeFileSync(join(folder, 'a.yaml~'), 'x');
    writeFileSync(join(folder, '.a.yaml.swp'), 'x');
    mkdirSync(join(folder, 'data'));
    await staysTrueFor(150, () => changeCount === 1);
  });

  it('reports nothing after close', async () => {
    await watch(20);
    watcher?.close();
    writeFileSync(join(folder, 'a.yaml'), 'two');
    await staysTrueFor(100, () => changeCount === 1);
  });
});
