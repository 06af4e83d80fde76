import { readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';

interface Entry {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly dev?: boolean;
  readonly inBundle?: boolean;
  readonly hasInstallScript?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

type Packages = Readonly<Record<string, Entry>>;

function packagesIn(lockfile: string): Packages {
  return (JSON.parse(readFileSync(join(packageRoot, lockfile), 'utf8')) as { packages: Packages }).packages;
}

const files = filesBelow('');

const withPlatforms = ['package-lock.json', 'test/clients/package-lock.json'];
const others = ['test/helm/package-lock.json', 'wasm/package-lock.json'];

describe.each([...withPlatforms, ...others])('%s', (lockfile) => {
  const packages = packagesIn(lockfile);
  const entries = Object.entries(packages);

  it('has no addresses, so that packages come from the registry that the machine is configured for', () => {
    expect(entries.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
  });

  it('has an entry for every optional dependency, without which `npm ci` fails', () => {
    const edges = entries.flatMap(([path, { optionalDependencies = {} }]) =>
      Object.entries(optionalDependencies).map(([name, range]) => ({ path, name, range })),
    );
    // Where a registry lacks a platform's package, npm leaves its entry out (npm/cli#4828).
    if (withPlatforms.includes(lockfile)) expect(edges.length).toBeGreaterThan(20);
    expect(edges.filter(({ path, name }) => find(path, name) === undefined)).toEqual([]);
    for (const { path, name, range } of edges) {
      if (/^\d+\.\d+\.\d+$/.test(range)) expect([name, find(path, name)?.version]).toEqual([name, range]);
    }
  });

  /** Node's search order: the package's own node_modules, then those of its parents. */
  function find(from: string, name: string): Entry | undefined {
    const at = packages[join(from, 'node_modules', name)];
    if (at !== undefined || from === '') return at;
    return find(from.slice(0, Math.max(0, from.lastIndexOf('node_modules/') - 1)), name);
  }
});

it.each(['package-lock.json', 'wasm/package-lock.json'])(
  '%s has the digest of every package, so that a registry cannot send another one',
  (lockfile) => {
    const entries = Object.entries(packagesIn(lockfile));
    const own = entries.filter(([path, { inBundle }]) => path !== '' && inBundle !== true);
    expect(own.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-')).map(([path]) => path)).toEqual([]);
  },
);

describe('package-lock.json', () => {
  it('has no native code in production but SQLite, such as bufferutil, which ws would load', () => {
    const entries = Object.entries(packagesIn('package-lock.json'));
    const native = entries.filter(([, { hasInstallScript, dev }]) => hasInstallScript === true && dev !== true);
    expect(native.map(([path]) => path)).toEqual(['node_modules/@photostructure/sqlite']);
  });

  it('has anvil for every platform for which it is published', () => {
    const platforms = Object.entries(packagesIn('package-lock.json')).filter(([path]) =>
      path.includes('@foundry-rs/anvil-'),
    );
    const names = platforms.map(([path]) => path.replace('node_modules/@foundry-rs/anvil-', '')).sort();
    expect(names).toEqual(['darwin-amd64', 'darwin-arm64', 'linux-amd64', 'linux-arm64', 'win32-amd64']);
    for (const [, entry] of platforms) {
      expect(entry).toMatchObject({ optional: true, os: [expect.any(String)], cpu: [expect.any(String)] });
    }
  });
});

describe('test/clients/package-lock.json', () => {
  it('names no engine for the native part of Hardhat, or npm on Node 20 would leave it out for the Node of a package', () => {
    const native = Object.entries(packagesIn('test/clients/package-lock.json')).filter(([path]) =>
      path.includes('@nomicfoundation/edr-'),
    );
    expect(native.length).toBeGreaterThan(5);
    expect(native.filter(([, entry]) => 'engines' in entry).map(([path]) => path)).toEqual([]);
  });
});

describe('files', () => {
  const texts = files
    .filter((file) => basename(file) !== 'package-lock.json')
    .map((file) => ({ file, text: readFileSync(join(packageRoot, file), 'utf8') }));

  it('are found', () => {
    expect(files).toContain('gateway/main.ts');
    expect(files).toContain('package-lock.json');
    expect(files.length).toBeGreaterThan(100);
  });

  it('name no registry, which each machine configures', () => {
    const registry = /\bregistry\.[a-z]+|\b(artifactory|verdaccio|nexus)\b|_authToken/i;
    const ours = /metrics\.registry\.|\bregistry\.(contentType|metrics|ts)\b|\bRegistry\.merge\b/; // of metrics and of networks
    const lines = texts.flatMap(({ file, text }) => text.split('\n').map((line) => ({ file, line })));
    const found = lines.filter(({ file, line }) => registry.test(line) && !ours.test(line) && file !== thisFile);
    expect(found).toEqual([]);
  });

  it('name no folder of a developer’s machine', () => {
    const found = texts.filter(({ text }) => /(^|[^.\w/])\/(?:home|Users|root|work)\//m.test(text));
    expect(found.map(({ file }) => file)).toEqual([]);
    expect(texts.filter(({ text }) => /[A-Z]:\\Users\\/.test(text)).map(({ file }) => file)).toEqual([]);
  });

  it('of code and data have names in kebab case', () => {
    const namedByHelm = 'deploy/helm/Chart.yaml';
    const kinds = ['.ts', '.js', '.json', '.yaml'];
    const names = files.filter((file) => file.includes('/') && kinds.includes(extname(file)));
    expect(
      names.filter((file) => file !== namedByHelm && !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)+$/.test(basename(file))),
    ).toEqual([]);
  });

  it('have specific names', () => {
    const names = files.filter((file) => /(^|[/-])(utils?|helpers?|misc|common|index)(\.|\/)/.test(file));
    expect(names).toEqual([]);
  });
});

const thisFile = 'test/structure/lockfile.test.ts';

/** All files except for installed ones, built ones and results of runs. */
function filesBelow(folder: string): string[] {
  const skipped = ['node_modules', 'dist', 'coverage', '.git', '.gatehouse'];
  return readdirSync(join(packageRoot, folder), { withFileTypes: true })
    .filter(({ name }) => !skipped.includes(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return filesBelow(path);
      return entry.isFile() ? [path] : [];
    })
    .sort();
}
