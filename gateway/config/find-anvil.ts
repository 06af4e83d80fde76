import { createRequire } from 'node:module';
import { join } from 'node:path';
import { packageRoot } from './package.ts';

/** Anvil's binary by platform, in Node's spelling `platform-arch`. */
const anvilPackages: Readonly<Record<string, string>> = {
  'darwin-arm64': '@foundry-rs/anvil-darwin-arm64/bin/anvil',
  'darwin-x64': '@foundry-rs/anvil-darwin-amd64/bin/anvil',
  'linux-arm64': '@foundry-rs/anvil-linux-arm64/bin/anvil',
  'linux-x64': '@foundry-rs/anvil-linux-amd64/bin/anvil',
  'win32-x64': '@foundry-rs/anvil-win32-amd64/bin/anvil.exe',
};

/** The path of anvil's binary; undefined if it is not installed (production) or not published for this platform. */
export function findAnvil(): string | undefined {
  const binary = anvilPackages[`${process.platform}-${process.arch}`];
  if (binary === undefined) return undefined;
  try {
    // Not the package's `bin`: that is a Node process which starts the binary, and a SIGKILL of it would orphan the node.
    return createRequire(join(packageRoot, 'package.json')).resolve(binary);
  } catch {
    return undefined;
  }
}
