import { watch, type FSWatcher } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { findFolder, isNetworkFile } from './load-networks.ts';

export interface WatchIntervals {
  /** So long nothing may have changed before it is told: editors write a file in several steps. */
  readonly settleMs: number;
  /** How often the folder is looked at unasked. */
  readonly checkIntervalMs: number;
}

const defaultTimes: WatchIntervals = { settleMs: 250, checkIntervalMs: 5_000 };

/**
 * Tells when network files may have changed: saved, renamed into place, or swapped as a whole, as Kubernetes does with
 * `..data`. The system's own notice (fs.watch) makes it quick. It does not come on every file system, nor for a file
 * elsewhere that a link here points at, nor when the folder itself is replaced: so the folder is looked at every few
 * seconds as well, one `stat` a file (1 ms for 100 files, in the thread pool), which finds all of that.
 */
export class FolderWatcher {
  readonly #folder: string;
  readonly #onChange: () => void;
  readonly #times: WatchIntervals;
  readonly #intervalTimer: NodeJS.Timeout;
  #watcher: FSWatcher | undefined;
  /** The folder that is watched, by its number: another one may take its name. */
  #watchedInode: bigint | undefined;
  #checkTimer: NodeJS.Timeout | undefined;
  #isChecking = false;
  /** What was looked at before that may be another by now. */
  #hasPendingEvent = false;
  /** As `lookAt` gives it: what was told last, and what has yet to settle. */
  #reportedFingerprint: string | undefined;
  #unsettledFingerprint: string | undefined;
  #isClosed = false;

  /** @param folder as the setting has it  @param onChange is called once in the beginning, too */
  constructor(folder: string, onChange: () => void, times: Partial<WatchIntervals> = {}) {
    this.#folder = folder;
    this.#onChange = onChange;
    this.#times = { ...defaultTimes, ...times };
    this.#intervalTimer = setInterval(() => {
      this.#scheduleCheck(0);
    }, this.#times.checkIntervalMs).unref();
    this.#scheduleCheck(0);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#intervalTimer);
    clearTimeout(this.#checkTimer);
    this.#watcher?.close();
  }

  #scheduleCheck(ms: number): void {
    if (this.#isClosed) return;
    this.#checkTimer ??= setTimeout(() => {
      this.#checkTimer = undefined;
      void this.#check();
    }, ms).unref();
  }

  async #check(): Promise<void> {
    if (this.#isChecking) {
      this.#hasPendingEvent = true;
      return;
    }
    this.#isChecking = true;
    const folder = findFolder(this.#folder);
    const { seen: fingerprint, number } = await folderState(folder);
    this.#isChecking = false;
    if (this.#isClosed) return;
    if (this.#hasPendingEvent) {
      this.#hasPendingEvent = false;
      this.#scheduleCheck(this.#times.settleMs / 10);
    }
    if (number !== this.#watchedInode) this.#watch(folder, number);
    if (fingerprint === this.#reportedFingerprint) return;
    if (fingerprint === this.#unsettledFingerprint) {
      this.#reportedFingerprint = fingerprint;
      this.#onChange();
    } else {
      this.#unsettledFingerprint = fingerprint;
      this.#scheduleCheck(this.#times.settleMs);
    }
  }

  /** Where that is not possible, what is seen every few seconds must do. */
  #watch(folder: string, number: bigint | undefined): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#watchedInode = number;
    if (number === undefined) return;
    try {
      this.#watcher = watch(folder, { persistent: false }, () => {
        this.#scheduleCheck(this.#times.settleMs / 10);
      });
    } catch {
      return;
    }
    this.#watcher.on('error', () => this.#watcher?.close());
  }
}

/** What tells one state of a folder from another without reading its files: links are followed. Never rejects. */
async function folderState(folder: string): Promise<{ seen: string; number: bigint | undefined }> {
  try {
    const { ino } = await stat(folder, { bigint: true });
    const names = (await readdir(folder)).filter(isNetworkFile).sort();
    const seen = await Promise.all(names.map((name) => fileState(join(folder, name))));
    return { seen: [ino, ...names.map((name, index) => `${name} ${seen[index] ?? ''}`)].join('\n'), number: ino };
  } catch (error) {
    return { seen: codeOf(error), number: undefined };
  }
}

async function fileState(file: string): Promise<string> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch (error) {
    return codeOf(error);
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown';
}
