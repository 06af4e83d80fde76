import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { authSchema } from '../../gateway/auth/tokens/read-auth.ts';
import { packageRoot } from '../../gateway/config/package.ts';
import { defaultsSchema, networkSchema } from '../../gateway/network-files/options/network-schema.ts';
import { good, loadFiles, diagnosticsOf } from './load.ts';

interface Schema {
  readonly title?: string;
  readonly description?: string;
  readonly additionalProperties?: boolean | Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

const read = (file: string): Schema => JSON.parse(readFileSync(join(packageRoot, file), 'utf8')) as Schema;
const schema = read('schemas/network.schema.json');
const properties = [...propertiesOf(schema, '')];

describe('the schema of network files', () => {
  it('is a valid JSON Schema, also in Ajv’s strict mode', () => {
    const ajv = new Ajv2020({ strict: true });
    expect(ajv.validateSchema(schema)).toBe(true);
    expect(() => ajv.compile(schema)).not.toThrow();
  });

  it('has the options of the gateway', () => {
    expect(schema, 'schemas/network.schema.json is stale: run `npm run generate`').toEqual(networkSchema());
    expect(properties.map(([path]) => path)).toEqual(expect.arrayContaining(['chainId', 'upstreams[].url']));
  });

  it.each(properties)('has a title and a description for %s', (_, property) => {
    // The title completes `expected …`, the description is what an editor shows.
    expect(property.title).toMatch(/^[a-z][^.]+$/);
    expect(property.description).toMatch(/^[A-Z].+\.$/);
  });

  it('rejects unknown properties at each level', () => {
    expect(schema.additionalProperties).toBe(false);
    expect(schema.properties?.['upstreams']?.items?.additionalProperties).toBe(false);
  });

  it('is referenced by each included network file, for editors', () => {
    for (const name of readdirSync(join(packageRoot, 'networks'))) {
      const text = readFileSync(join(packageRoot, 'networks', name), 'utf8');
      expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=../schemas/network.schema.json');
    }
  });
});

describe('the schema of auth.yaml', () => {
  const auth = read('schemas/auth.schema.json');

  it('is that of the gateway, and valid in Ajv’s strict mode', () => {
    expect(auth, 'schemas/auth.schema.json is stale: run `npm run generate`').toEqual(authSchema);
    expect(() => new Ajv2020({ strict: true, allowUnionTypes: true }).compile(auth)).not.toThrow();
  });

  it.each([...propertiesOf(auth, '')])('has a title and a description for %s', (_, property) => {
    expect(property.title).toMatch(/^[a-z][^.]+$/);
    expect(property.description).toMatch(/^[A-Z].+\.$/);
  });
});

describe('the schema of defaults.yaml', () => {
  const defaults = read('schemas/defaults.schema.json');
  const validate = new Ajv2020({ strict: true }).compile(defaults);

  it('has the options of network files, except for those that identify a network', () => {
    expect(defaults, 'schemas/defaults.schema.json is stale: run `npm run generate`').toEqual(defaultsSchema());
    const own = Object.keys(schema.properties ?? {}).filter((name) => !['name', 'chainId', 'baseUrls'].includes(name));
    expect(Object.keys(defaults.properties ?? {})).toEqual(own);
    for (const name of own) expect(defaults.properties?.[name]).toEqual(schema.properties?.[name]);
  });

  it('requires nothing, and rejects other names', () => {
    expect(validate({})).toBe(true);
    expect(validate({ failsafe: { hedgeAfterMs: 'off', eth_call: { timeoutMs: 5 } } })).toBe(true);
    expect(validate({ chainId: 1 })).toBe(false);
    expect(validate({ failsafe: { hedgeAfterMs: 'of' } })).toBe(false);
  });

  it('is in the package, and in the image', () => {
    const { files } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { files: string[] };
    for (const file of ['network', 'defaults', 'auth'].map((name) => `schemas/${name}.schema.json`)) {
      expect(files).toContain(file);
      expect(readFileSync(join(packageRoot, 'Dockerfile'), 'utf8')).toContain(`COPY ${file} ./${file}`);
    }
  });
});

describe('a network file can be written', () => {
  const upstreamsOf = (text: string) =>
    loadFiles({ 'base.yaml': text })[0]?.upstreams.map(({ name, url, headers }) => ({ name, url, headers }));
  const one = { name: 'one', url: 'https://one.example' };

  it.each([
    ['with a byte order mark', `\uFEFF${good.join('\n')}`],
    ['with the line ends of Windows', `${good.join('\r\n')}\r\n`],
    ['without a line break at its end', good.join('\n')],
    ['as JSON', JSON.stringify({ name: 'Base', chainId: 8453, upstreams: [one] })],
    ['as a document with begin and end', `---\n${good.join('\n')}\n...\n`],
    ['with a chain id in hexadecimal digits', good.join('\n').replace('8453', '0x2105')],
  ])('%s', (_, text) => {
    expect(loadFiles({ 'base.yaml': text })).toMatchObject([
      { slug: 'base', name: 'Base', chainId: 8453, upstreams: [one] },
    ]);
  });

  it('with any line ends, and the same positions of diagnostics', () => {
    const lines = ['# Base', ...good, '    timeout: 5'];
    const diagnostic = ['7:5 upstreams[0].timeout is not known: write failsafe: { timeoutMs: … }'];
    expect(diagnosticsOf(lines.join('\n'))).toEqual(diagnostic);
    expect(diagnosticsOf(lines.join('\r\n'))).toEqual(diagnostic);
    expect(diagnosticsOf(`\uFEFF${lines.join('\n')}`)).toEqual(diagnostic);
  });

  it('with the largest chain id', () => {
    expect(loadFiles({ 'a.yaml': good.join('\n').replace('8453', '9007199254740991') })[0]?.chainId).toBe(2 ** 53 - 1);
  });

  it('with anchors, aliases and merge keys', () => {
    const lines = [
      ...good.slice(0, 3),
      '  - &first',
      '    name: one',
      '    url: https://one.example',
      '    headers: &headers { x-id: a }',
      '  - name: two',
      '    url: https://two.example',
      '    headers: *headers',
      '  - <<: *first',
      '    name: three',
    ];
    const headers = { 'x-id': 'a' };
    expect(upstreamsOf(lines.join('\n'))).toEqual([
      { ...one, headers },
      { name: 'two', url: 'https://two.example', headers },
      { name: 'three', url: 'https://one.example', headers },
    ]);
  });

  it('with unique upstream names, and with diagnostics at the position that an alias refers to', () => {
    const lines = [
      ...good.slice(0, 3),
      '  - &first',
      '    name: one',
      '    url: https://one',
      '    timeout: 5',
      '  - *first',
    ];
    expect(diagnosticsOf(lines)).toEqual([
      '5:11 upstreams[1].name is the same as upstreams[0].name: metrics need a unique name',
      '7:5 upstreams[0].timeout is not known: write failsafe: { timeoutMs: … }',
      '7:5 upstreams[1].timeout is not known: write failsafe: { timeoutMs: … }',
    ]);
    expect(diagnosticsOf([...good, ...good.slice(3), ...good.slice(3)])).toEqual([
      '6:11 upstreams[1].name is the same as upstreams[0].name: metrics need a unique name',
      '8:11 upstreams[2].name is the same as upstreams[0].name: metrics need a unique name',
    ]);
  });

  it('without a header that belongs to the gateway', () => {
    expect(diagnosticsOf([...good, '    headers: { Content-Length: "5", x-ok: a }'])).toEqual([
      '6:32 upstreams[0].headers.Content-Length: the gateway sets this header itself',
    ]);
  });
});

function* propertiesOf(of: Schema, before: string): Iterable<[string, Schema]> {
  const own = Object.entries(of.properties ?? {});
  for (const [name, property] of own) yield [before + name, property];
  for (const [name, { items }] of own) if (items !== undefined) yield* propertiesOf(items, `${before}${name}[].`);
}
