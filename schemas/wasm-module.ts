import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../gateway/config/package.ts';

const SOURCE = 'wasm/value-end.ts';
/** One page of memory, which is the caller's: the code has no data of its own. */
const options = [
  '-O3',
  '--converge',
  '--noAssert',
  '--runtime',
  'stub',
  '--initialMemory',
  '1',
  '--maximumMemory',
  '1',
];

/** The module with the WebAssembly of wasm/value-end.ts: with SIMD, and for the processors that have none. */
export function wasmModule(): string {
  return `// Generated from ${SOURCE} by \`npm run generate\`. Do not edit.
export const withSimd =
  '${compile(['--enable', 'simd'])}';
export const withoutSimd =
  '${compile([])}';
`;
}

/**
 * The code as base64. The compiler is a program: the types of its package would replace those of Array in all files.
 * @throws if the source has an error, which the compiler has written
 */
function compile(features: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-wasm-'));
  try {
    const file = join(folder, 'code.wasm');
    const compiler = join(packageRoot, 'node_modules/assemblyscript/bin/asc.js');
    execFileSync(process.execPath, [compiler, SOURCE, ...options, ...features, '--outFile', file], {
      cwd: packageRoot,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return readFileSync(file).toString('base64');
  } finally {
    rmSync(folder, { recursive: true });
  }
}
