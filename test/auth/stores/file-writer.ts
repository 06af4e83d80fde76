import { spawn, type ChildProcess } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { packageRoot } from '../../../gateway/config/package.ts';
import { tracked } from '../../support/child-processes.ts';

/** Starts a process that adds 25 keys to the key file. Node 20 cannot run TypeScript, so it runs the compiled gateway. */
export function startFileWriter(dataDir: string, name: string): ChildProcess {
  const program = `
    import { pino } from 'pino';
    import { FileKeyStore } from './dist/gateway/auth/stores/file-key-store.js';
    import { digestOf, makeKey } from './dist/gateway/auth/formats/key.js';
    const store = new FileKeyStore('${dataDir}', pino({ level: 'silent' }));
    for (let n = 0; n < 25; n += 1) await store.add(digestOf(makeKey()), { name: '${name}', createdAt: '2026' });
    await store.close();`;
  const options = { cwd: packageRoot, stdio: 'inherit' } as const;
  const child = tracked(spawn(process.execPath, ['--input-type=module', '-e', program], options));
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}
