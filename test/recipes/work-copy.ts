import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';
import { applyEdit, type Edit } from './recipe-example.ts';
import { tracked } from '../support/child-processes.ts';

/** A copy of the repository's files, without its history, in which edits are tried. It shares node_modules. */
export class WorkCopy {
  readonly #folder = mkdtempSync(join(tmpdir(), 'gatehouse-recipes-'));
  readonly #files: ReadonlyMap<string, Buffer>;

  /** @param compiled a copy whose compiled files are copied, too */
  constructor(compiled?: WorkCopy) {
    this.#files = compiled === undefined ? repositoryFiles() : compiled.#files;
    this.restore();
    symlinkSync(join(packageRoot, 'node_modules'), join(this.#folder, 'node_modules'));
    if (compiled !== undefined) cpSync(join(compiled.#folder, 'dist'), join(this.#folder, 'dist'), { recursive: true });
  }

  /** Undoes edits, and what commands changed. @param added files to delete */
  restore(added: readonly string[] = []): void {
    for (const file of added) if (!this.#files.has(file)) rmSync(join(this.#folder, file), { force: true });
    for (const [file, original] of this.#files) {
      const path = join(this.#folder, file);
      mkdirSync(dirname(path), { recursive: true });
      if (!existsSync(path) || !readFileSync(path).equals(original)) writeFileSync(path, original);
    }
  }

  edit(edit: Edit): void {
    const path = join(this.#folder, edit.file);
    const text = existsSync(path) ? readFileSync(path, 'utf8') : undefined;
    writeFileSync(path, applyEdit(text, edit));
  }

  /** Runs a command with PATH and HOME as its only environment. Returns what it prints, or undefined if it succeeds. */
  async failureOf(command: string): Promise<string | undefined> {
    const { PATH, HOME } = process.env;
    const child = tracked(
      spawn(command, {
        shell: true,
        cwd: this.#folder,
        env: { PATH, HOME, NO_COLOR: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
    return code === 0 ? undefined : output;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}

function repositoryFiles(): Map<string, Buffer> {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', list, { cwd: packageRoot, encoding: 'utf8' }).split('\0');
  const present = files.filter((file) => file !== '' && existsSync(join(packageRoot, file)));
  return new Map(present.map((file) => [file, readFileSync(join(packageRoot, file))]));
}
