import type { MethodSpec } from '../gateway/spec/method-spec.ts';
import { adminDocument } from './admin-document.ts';
import { comparedFields } from './compared-fields.ts';
import { defaultsSchema, networkSchema } from '../gateway/network-files/options/network-schema.ts';
import { knownChains } from './known-chains.ts';
import { openRpcDocument, paramSchemas, resultSchemas } from './documents.ts';
import { methodTable, nodeMethods } from './method-table.ts';
import { providerModule } from './provider-module.ts';
import type { Sources } from './read-sources.ts';

/** The texts of the generated files, by path from the package's root. Equal sources give equal bytes. */
export function artefacts(sources: Sources): ReadonlyMap<string, string> {
  return new Map([
    ['schemas/generated/openrpc.json', json(openRpcDocument(sources))],
    ['schemas/generated/params.json', json(paramSchemas(sources))],
    ['schemas/generated/results.json', json(resultSchemas(sources))],
    ['schemas/generated/admin-api.json', json(adminDocument(sources.adminApi))],
    ['schemas/network.schema.json', json(networkSchema())],
    ['schemas/defaults.schema.json', json(defaultsSchema())],
    ['schemas/generated/chains.json', lines(knownChains())],
    ['gateway/spec/methods.generated.ts', tableModule(methodTable(sources), nodeMethods(sources), sources)],
    ['gateway/network-files/providers/providers.generated.ts', providerModule(sources.providerUrls)],
    [
      'gateway/jsonrpc/request-members.generated.ts',
      membersModule(Object.keys(sources.types['Request']?.properties ?? {})),
    ],
  ]);
}

function tableModule(table: readonly MethodSpec[], byRole: Readonly<Record<string, string>>, sources: Sources): string {
  const { passThroughUnits, passThroughSplits, passThroughGroups, developmentMethods, neverOpened } = sources;
  const handled = table.flatMap(({ name, handledBy }) => (handledBy === undefined ? [] : [[name, handledBy]]));
  return [
    '// Generated from schemas/methods and schemas/types by `npm run generate`. Do not edit.',
    "import type { MethodGroup, MethodSpec } from './method-spec.ts';",
    '',
    `export const methods: readonly MethodSpec[] = ${JSON.stringify(table, undefined, 2)};`,
    '',
    '/** The methods that the gateway itself sends to upstreams, by `role`. */',
    `export const nodeMethods = ${JSON.stringify(byRole, undefined, 2)} as const;`,
    '',
    '/** The fields that audits compare, by type. The value is the type of the objects in a field; empty for other values. */',
    `export const comparedFields: Readonly<Record<string, Readonly<Record<string, string>>>> = ${JSON.stringify(comparedFields(sources), undefined, 2)};`,
    '',
    '/** Request units of methods without a schema, by name or by the start of the name. */',
    `export const passThroughUnits: Readonly<Record<string, number | string>> = ${JSON.stringify(passThroughUnits, undefined, 2)};`,
    '',
    '/** Methods without a schema that split: the position of the filter with the block range. */',
    `export const passThroughSplits: Readonly<Record<string, number>> = ${JSON.stringify(passThroughSplits, undefined, 2)};`,
    '',
    '/** Methods without a schema, by name or by the start of the name: their group, if it is not `other`. */',
    `export const passThroughGroups: Readonly<Record<string, MethodGroup>> = ${JSON.stringify(passThroughGroups, undefined, 2)};`,
    '',
    '/** What development networks serve beside the methods of their files: names, and namespaces as `evm_*`. */',
    `export const developmentMethods: readonly string[] = ${JSON.stringify(developmentMethods, undefined, 2)};`,
    '',
    '/** Methods that no wildcard opens: an asterisk stands for any characters. */',
    `export const neverOpened: readonly string[] = ${JSON.stringify(
      neverOpened.flatMap(({ methods }) => methods),
      undefined,
      2,
    )};`,
    '',
    '/** The methods that the gateway handles itself, and by which part: `answer`. */',
    `export type HandledMethods = ${JSON.stringify(Object.fromEntries(handled), undefined, 2)};`,
    '',
  ].join('\n');
}

function membersModule(names: readonly string[]): string {
  return [
    '// Generated from Request in schemas/types/envelope.yaml by `npm run generate`. Do not edit.',
    `export const requestMembers: readonly string[] = [${names.map((name) => `'${name}'`).join(', ')}];`,
    '',
  ].join('\n');
}

function json(document: unknown): string {
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** One member per line, so that a diff shows each change, and a reader can find a member without parsing the file. */
function lines(members: Readonly<Record<string, unknown>>): string {
  const texts = Object.entries(members).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{\n${texts.join(',\n')}\n}\n`;
}
