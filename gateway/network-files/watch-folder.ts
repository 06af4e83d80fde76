import { watch, type FSWatcher } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { clock, type Timer } from '../clock/clock.ts';
import { findFolder, isNetworkFile } from './load-networks.ts';

export interface WatchOptions {
  /** A change is reported after the folder is unchanged for this long: editors write a file in several steps. */
  readonly settleMs: number;
  /** Interval of checks without a file-system event. */
  readonly checkIntervalMs: number;
  /** Paths of files outside the folder, for which there are no events. */
  readonly otherFiles: () => readonly string[];
}

const defaultOptions: WatchOptions = { settleMs: 250, checkIntervalMs: 5_000, otherFiles: () => [] };

/**
 * Detects changes of network files: saved, renamed into place, or replaced as a whole, as Kubernetes does with `..data`.
 * File-system events (fs.watch) make it fast. Events are missing on some file systems, for targets of symbolic links, and
 * when the folder itself is replaced. So the folder is also checked every 5 s, with one `stat` for each file (1 ms for 100
 * files, in the thread pool).
 */
export class FolderWatcher {
  readonly #folder: string;
  readonly #onChange: () => void;
  readonly #options: WatchOptions;
  readonly #intervalTimer: Timer;
  #watcher: FSWatcher | undefined;
  /** Inode of the watched folder: another folder may replace it under the same name. */
  #watchedInode: bigint | undefined;
  #isChecking = false;
  /** The files may have changed since they were read. */
  #isDue = false;
  /** The state that was reported last. */
  #reported: string | undefined;
  #isClosed = false;

  /** @param folder the value of the setting  @param onChange is also called once after the start */
  constructor(folder: string, onChange: () => void, options: Partial<WatchOptions> = {}) {
    this.#folder = folder;
    this.#onChange = onChange;
    this.#options = { ...defaultOptions, ...options };
    this.#intervalTimer = clock.setInterval(() => void this.#check(), this.#options.checkIntervalMs).unref();
    void this.#check();
  }

  close(): void {
    this.#isClosed = true;
    clock.clearInterval(this.#intervalTimer);
    this.#watcher?.close();
  }

  /** Reads the state of the folder until it is unchanged for the settle time, and reports it if it is another one. */
  async #check(): Promise<void> {
    this.#isDue = true;
    if (this.#isChecking) return;
    this.#isChecking = true;
    let unsettled: string | undefined;
    while (this.#isDue) {
      this.#isDue = false;
      const folder = findFolder(this.#folder);
      const { fingerprint, inode } = await readFolderState(folder, this.#options.otherFiles());
      if (this.#isClosed) return;
      if (inode !== this.#watchedInode) this.#watch(folder, inode);
      if (fingerprint === this.#reported) continue;
      if (fingerprint === unsettled) {
        this.#reported = fingerprint;
        this.#onChange();
        continue;
      }
      unsettled = fingerprint;
      await clock.sleep(this.#options.settleMs, { ref: false });
      this.#isDue = true;
    }
    this.#isChecking = false;
  }

  /** Watches a folder. Without support for file-system events, the regular checks detect changes. */
  #watch(folder: string, inode: bigint | undefined): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#watchedInode = inode;
    if (inode === undefined) return;
    try {
      this.#watcher = watch(folder, { persistent: false }, () => void this.#check());
    } catch {
      return;
    }
    this.#watcher.on('error', () => this.#watcher?.close());
  }
}

/** Identifies the state of a folder without reading its files. Follows symbolic links. Never rejects. */
async function readFolderState(
  folder: string,
  otherFiles: readonly string[],
): Promise<{ fingerprint: string; inode: bigint | undefined }> {
  try {
    const { ino: inode } = await stat(folder, { bigint: true });
    const names = (await readdir(folder)).filter(isNetworkFile).sort();
    const files = [...names.map((name) => join(folder, name)), ...otherFiles];
    const states = await Promise.all(files.map(readFileState));
    const lines = files.map((file, index) => `${file} ${states[index] ?? ''}`);
    return { fingerprint: [inode, ...lines].join('\n'), inode };
  } catch (error) {
    return { fingerprint: codeOf(error), inode: undefined };
  }
}

async function readFileState(file: string): Promise<string> {
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
