import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { onTestFinished } from 'vitest';
import { packageRoot } from '../../../gateway/config/package.ts';

/** Starts a process that adds 25 keys to the key file. Node 20 cannot run TypeScript, so it runs a transpiled copy. */
export function startFileWriter(folder: string, dataDir: string, name: string): ChildProcess {
  const copy = join(folder, 'gateway');
  if (!readdirSync(folder).includes('gateway')) {
    symlinkSync(join(packageRoot, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
    for (const part of ['auth', 'config']) copyTranspiled(join(packageRoot, 'gateway', part), join(copy, part));
  }
  const program = `
    import { pino } from 'pino';
    import { FileKeyStore } from '${join(copy, 'auth/stores/file-key-store.js')}';
    import { digestOf, makeKey } from '${join(copy, 'auth/formats/key.js')}';
    const store = new FileKeyStore('${dataDir}', pino({ level: 'silent' }));
    for (let n = 0; n < 25; n += 1) await store.add(digestOf(makeKey()), { name: '${name}', createdAt: '2026' });
    await store.close();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: folder, stdio: 'inherit' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

function copyTranspiled(from: string, to: string): void {
  const compilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
    rewriteRelativeImportExtensions: true,
  };
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    if (entry.isDirectory()) {
      copyTranspiled(source, join(to, entry.name));
      continue;
    }
    const { outputText } = ts.transpileModule(readFileSync(source, 'utf8'), { compilerOptions });
    writeFileSync(join(to, entry.name.replace(/\.ts$/, '.js')), outputText);
  }
}
