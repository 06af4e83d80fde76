import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadNetworks } from '../../gateway/network-files/load-networks.ts';
import { reservedSlugs } from '../../gateway/network-files/options/check-texts.ts';
import { good, knownMethods, loadFiles, diagnosticsIn } from './load.ts';

const goodFile = `${good.join('\n')}\n`;
const loadFolder = (folder: string) => loadNetworks({ folder, knownMethods, env: {} });

describe('the folder of network files', () => {
  let cwd: string;
  let empty: string;

  beforeEach(() => {
    cwd = process.cwd();
    empty = mkdtempSync(join(tmpdir(), 'gatehouse-networks-'));
  });
  afterEach(() => {
    process.chdir(cwd);
    rmSync(empty, { recursive: true });
  });

  it('that does not exist is an error that names the setting', () => {
    const error = (folder: string, absolute: string): string =>
      `${folder}${absolute}: the folder of network files cannot be read; set NETWORKS_DIR`;
    expect(() => loadFolder(join(empty, 'nowhere'))).toThrow(error(join(empty, 'nowhere'), ''));
    expect(() => loadFolder('no-such-folder')).toThrow(
      error('no-such-folder', ` (that is ${join(cwd, 'no-such-folder')})`),
    );
  });

  it('has at least one network', () => {
    expect(() => loadFolder(empty)).toThrow(`${empty}: the folder has no network file (<slug>.yaml)`);
  });

  it('defaults to the gateway’s own if the working directory has no folder `networks`', () => {
    process.chdir(empty);
    expect(loadFolder('networks').map(({ slug }) => slug)).toContain('sepolia');
    expect(() => loadFolder('network')).toThrow('cannot be read; set NETWORKS_DIR');
  });

  it('can contain other files', () => {
    const files = { 'base.yaml': goodFile, 'README.md': '# Networks', 'old.yaml.bak': 'x', '.hidden.yaml': 'x' };
    expect(loadFiles(files).map(({ slug }) => slug)).toEqual(['base']);
  });

  it('is read in the order of slugs', () => {
    const files = { 'c.yaml': goodFile, 'a.yaml': goodFile, 'b-2.yaml': goodFile };
    expect(loadFiles(files).map(({ slug }) => slug)).toEqual(['a', 'b-2', 'c']);
  });
});

describe('the name of a network file', () => {
  it.each(['Base', 'base_mainnet', '-base', 'base.main', 'bäse', 'a'.repeat(64)])('is no slug: %s', (slug) => {
    expect(diagnosticsIn({ [`${slug}.yaml`]: goodFile })).toEqual([
      `${slug}.yaml:1:1 the file name is the slug: expected 1 to 63 lower-case letters, digits and hyphens before .yaml`,
    ]);
  });

  it.each([...reservedSlugs].filter((slug) => !slug.includes('.')))('is reserved: %s', (slug) => {
    expect(diagnosticsIn({ [`${slug}.yaml`]: goodFile })).toEqual([
      `${slug}.yaml:1:1 the slug ${slug} is reserved for a path of the gateway: rename the file`,
    ]);
  });

  it.each(['base.yml', 'base.YAML', 'base.Yml'])('ends in .yaml, not as %s does', (name) => {
    expect(diagnosticsIn({ [name]: 'anything: [' })).toEqual([
      `${name}:1:1 network files end in .yaml: rename it to base.yaml`,
    ]);
  });

  it('is not read if it is too large', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-networks-'));
    try {
      writeFileSync(join(folder, 'large.yaml'), '');
      // Without blocks on the disk, and larger than any string.
      truncateSync(join(folder, 'large.yaml'), 2 ** 30);
      expect(() => loadFolder(folder)).toThrow('large.yaml:1:1 the file is larger than 256 kB');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('cannot be the name of a folder, a pipe or a broken link', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-networks-'));
    try {
      execFileSync('mkfifo', [join(folder, 'pipe.yaml')]);
      execFileSync('mkdir', [join(folder, 'folder.yaml')]);
      execFileSync('ln', ['-s', 'nowhere', join(folder, 'link.yaml')]);
      const places = ['folder.yaml:1:1 expected a file', 'link.yaml:1:1 the file cannot be read (ENOENT)'];
      const all = [...places, 'pipe.yaml:1:1 expected a file'].map((line) => join(folder, line)).join('\n');
      expect(() => loadFolder(folder)).toThrow(all);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('diagnostics', () => {
  it('of all files are reported at once, in the order of files and lines', () => {
    const files = {
      'a.yaml': 'name: A\nchainId: 0\nupstreams: []\ncolour: red\n',
      'b.yaml': goodFile,
      'C.yaml': goodFile.replace('8453', 'one'),
      'd.yaml': 'name: "D\n',
      'e.yml': '',
    };
    expect(diagnosticsIn(files)).toEqual([
      'C.yaml:1:1 the file name is the slug: expected 1 to 63 lower-case letters, digits and hyphens before .yaml',
      'C.yaml:2:10 chainId: expected whole number from 1 to 9007199254740991, not text',
      'a.yaml:2:10 chainId: expected whole number from 1 to 9007199254740991',
      'a.yaml:3:12 upstreams: expected list of at least one upstream',
      'a.yaml:4:1 colour is not known',
      'd.yaml:2:1 a quote is not closed',
      'e.yml:1:1 network files end in .yaml: rename it to e.yaml',
    ]);
  });

  it('are limited to 100 for one file', () => {
    const diagnostics = diagnosticsIn({ 'a.yaml': `${goodFile}methods: [${'nonsense, '.repeat(150)}]\n` });
    expect(diagnostics).toHaveLength(101);
    expect(diagnostics.at(-1)).toBe('a.yaml: and 50 more');
  });

  it('have file, line and column for programs', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-networks-'));
    try {
      execFileSync('sh', ['-c', 'echo "name: x\nchainId: 1\nupstreams: 5" > base.yaml'], { cwd: folder });
      const message = 'upstreams: expected list of at least one upstream, not a number';
      const diagnostics = [{ file: join(folder, 'base.yaml'), line: 3, column: 12, message }];
      expect(() => loadFolder(folder)).toThrow(expect.objectContaining({ diagnostics }));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('show the folder as in the setting', () => {
    const cwd = process.cwd();
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-networks-'));
    try {
      execFileSync('sh', ['-c', 'mkdir own && echo "name: x" > own/base.yaml'], { cwd: folder });
      process.chdir(folder);
      expect(() => loadFolder('own')).toThrow('own/base.yaml:1:1 chainId is missing: expected whole number');
    } finally {
      process.chdir(cwd);
      rmSync(folder, { recursive: true });
    }
  });
});
