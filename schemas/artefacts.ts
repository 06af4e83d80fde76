import { adminDocument } from './admin-document.ts';
import { authSchema } from '../gateway/auth/tokens/read-auth.ts';
import { defaultsSchema, networkSchema } from '../gateway/network-files/options/network-schema.ts';
import { knownChains } from './known-chains.ts';
import { openRpcDocument, paramSchemas, resultSchemas } from './documents.ts';
import { methodModule } from './method-module.ts';
import { providerModule } from './provider-module.ts';
import { publicFieldsModule } from './public-fields-module.ts';
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
    ['schemas/auth.schema.json', json(authSchema)],
    ['schemas/generated/chains.json', lines(knownChains())],
    ...sources.providers.flatMap(({ name, others, methods }): [string, string][] =>
      others === undefined
        ? []
        : [[`schemas/generated/units-${name.toLowerCase()}.json`, lines({ ...others, ...methods })]],
    ),
    ['gateway/spec/methods.generated.ts', methodModule(sources)],
    ['gateway/network-files/options/providers.generated.ts', providerModule(sources.providerUrls)],
    ['gateway/network-files/options/public-fields.generated.ts', publicFieldsModule()],
    [
      'gateway/jsonrpc/request-members.generated.ts',
      membersModule(Object.keys(sources.types['Request']?.properties ?? {})),
    ],
  ]);
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
