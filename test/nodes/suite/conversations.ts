import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { packageRoot } from '../../../gateway/config/package.ts';

/** A file of the official test suite: requests, in order. */
export interface Conversation {
  /** `eth_call/call-contract` */
  readonly name: string;
  readonly exchanges: readonly Exchange[];
  /** Only the form of the recorded responses counts: they are those of another client or another time. */
  readonly isFormOnly: boolean;
}

export interface Exchange {
  /** The text of the request. */
  readonly request: string;
  readonly method: string;
  /** The recorded response. */
  readonly response: string;
}

const SENT = '>> ';
const RECEIVED = '<< ';

/**
 * The folder with the official test suite of execution-apis: its chain and its conversations.
 * @throws Error that names what is missing
 */
export function suiteFolder(): string {
  const folder = resolve(packageRoot, process.env['EXECUTION_APIS'] ?? '../shared/data/execution-apis-suite');
  if (existsSync(join(folder, 'chain.rlp'))) return folder;
  throw new Error(
    'npm run test:all -- nodes needs the tests of ethereum/execution-apis: set EXECUTION_APIS to the folder with their chain.rlp.',
  );
}

/** All conversations of the suite, by name. */
export function readConversations(folder: string): Conversation[] {
  const methods = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const files = methods.flatMap(({ name }) => readdirSync(join(folder, name)).map((file) => `${name}/${file}`));
  return (
    files
      .filter((file) => file.endsWith('.io'))
      .sort()
      .map((file) => readConversation(file.slice(0, -'.io'.length), readFileSync(join(folder, file), 'utf8')))
      // One file of commit 033ca6e6 is empty: eth_getLogs/no-topics.
      .filter(({ exchanges }) => exchanges.length > 0)
  );
}

function readConversation(name: string, text: string): Conversation {
  const lines = text.split('\n');
  const requests = lines.filter((line) => line.startsWith(SENT)).map((line) => line.slice(SENT.length));
  const responses = lines.filter((line) => line.startsWith(RECEIVED)).map((line) => line.slice(RECEIVED.length));
  if (requests.length !== responses.length) throw new Error(`${name} is no conversation`);
  const exchanges = requests.map((request, index) => {
    const { method } = JSON.parse(request) as { readonly method: string };
    return { request, method, response: responses[index] as string };
  });
  return { name, exchanges, isFormOnly: lines.some((line) => line.startsWith('// speconly:')) };
}
