import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';
import { namespaceOf } from '../../gateway/network-files/options/method-pattern.ts';
import { readSources } from '../../schemas/read-sources.ts';
import { responseTo, gatewayFor, readConversation } from './conversation.ts';

describe('the conversations in test/cases match exactly', () => {
  const folder = join(packageRoot, 'test/cases');
  const files = readdirSync(folder).sort();

  it.each(files)('%s', async (file) => {
    const exchanges = readConversation(readFileSync(join(folder, file), 'utf8'));
    const gateway = await gatewayFor(exchanges, 1337);
    for (const exchange of exchanges) {
      expect.soft(await responseTo(gateway, exchange), exchange.title).toBe(exchange.response);
    }
  });

  it('that are named after a method name one of the schemas', () => {
    const known = new Set(readSources(join(packageRoot, 'schemas')).methods.map(({ name }) => name));
    const named = files.map((file) => file.replace('.io', '')).filter((name) => name.includes('_'));
    const unknown = named.filter((name) => !known.has(name));
    expect(unknown.map((name) => `${name}: add it to schemas/methods/${namespaceOf(name)}.yaml`)).toEqual([]);
  });

  it('of chains without a node here name their source', () => {
    const unnamed = files
      .filter((file) => /^(zks|linea)_/.test(file))
      .filter((file) => !/^\/\/ spec: .*(@[0-9a-f]{8} |docs\.)/m.test(readFileSync(join(folder, file), 'utf8')));
    expect(unnamed.map((file) => `${file}: add a line "// spec: <repository>@<commit> <file>"`)).toEqual([]);
  });

  it('cover each method of the specification', () => {
    const tables = parse(readFileSync(join(packageRoot, 'test/spec/field-tables.yaml'), 'utf8')) as { methods: object };
    const missing = Object.keys(tables.methods).filter((method) => !files.includes(`${method}.io`));
    expect(missing.map((method) => `${method}: add test/cases/${method}.io`)).toEqual([]);
  });
});
