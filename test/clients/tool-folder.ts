import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const require = createRequire(import.meta.url);
const TIMEOUT_MS = 120_000;

/** A copy of tool-project/ in a temporary folder, in which the tools of contract developers run. */
export interface ToolFolder {
  readonly path: string;
  /** The tools' environment: their caches and manifests go into the folder, and they get no setting of this machine. */
  readonly env: Readonly<Record<string, string>>;
  /** The program and the arguments that run Hardhat. */
  hardhatCommand(args: readonly string[]): readonly [string, ...string[]];
  /** Runs Hardhat. @param url of the networks `gateway` and `fork` @returns what it printed */
  hardhat(url: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
  /** Runs forge. @returns what it printed */
  forge(args: readonly string[]): Promise<string>;
  remove(): void;
}

export function makeToolFolder(): ToolFolder {
  const path = mkdtempSync(join(tmpdir(), 'gatehouse-tools-'));
  cpSync(join(import.meta.dirname, 'tool-project'), path, { recursive: true });
  symlinkSync(join(import.meta.dirname, 'node_modules'), join(path, 'node_modules'));
  const solc = join(path, 'solc');
  writeFileSync(solc, `#!/bin/sh\nexec "${process.execPath}" "${path}/solc.js" "$@"\n`, { mode: 0o755 });
  const common = { PATH: process.env['PATH'] ?? '', HOME: path, TMPDIR: path };
  const run = async (file: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> => {
    const options = { cwd: path, env: { ...common, ...env }, timeout: TIMEOUT_MS };
    const running = promisify(execFile)(file, args, options);
    // Ignition asks for a confirmation if it can.
    running.child.stdin?.end();
    const { stdout, stderr } = await running;
    return stdout + stderr;
  };
  const cli = join(dirname(require.resolve('hardhat/package.json')), 'dist/src/cli.js');
  const hardhatCommand: ToolFolder['hardhatCommand'] = (args) => [findNode(), cli, ...args];
  return {
    path,
    env: common,
    hardhatCommand,
    hardhat: (url, args, env = {}) => {
      const [file, ...words] = hardhatCommand(args);
      return run(file, words, { ...env, GATEWAY_URL: url, CI: 'true' });
    },
    forge: (args) => run(findForge(), [...args, '--offline'], { FOUNDRY_SOLC: solc }),
    remove: () => {
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** Hardhat 3 needs Node 22. The tests of the gateway also run on Node 20; then this is the Node of an npm package. */
function findNode(): string {
  const [major = 0] = process.versions.node.split('.').map(Number);
  return major >= 22 ? process.execPath : require.resolve(`node-${process.platform}-${process.arch}/bin/node`);
}

function findForge(): string {
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch;
  return require.resolve(`@foundry-rs/forge-${process.platform}-${cpu}/bin/forge`);
}
