import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs a printed curl command in a shell, and parses its output as JSON. */
export async function runCurlLine(line: string): Promise<unknown> {
  const { stdout, stderr } = await run('sh', ['-c', line]);
  if (stderr !== '') throw new Error(stderr);
  return JSON.parse(stdout);
}
