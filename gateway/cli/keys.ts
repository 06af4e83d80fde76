import { Command, CommanderError } from 'commander';
import { openLog } from '../config/log.ts';
import { SettingsError, type Settings } from '../config/settings.ts';
import { FileKeyStore } from '../keys/file-key-store.ts';
import { KeyStoreError, type KeyRecord, type KeyStore } from '../keys/key-store.ts';
import { digestOf, isWellFormedKey, keyIdOf, makeKey } from '../keys/key.ts';
import { openKeyStore } from '../keys/open-key-store.ts';

/** Redis may be just starting beside us; longer than this nobody likes to wait. */
const openLimitMs = 1_500;

export interface KeysCommandContext {
  readonly settings: () => Pick<Settings, 'REDIS_URL' | 'DATA_DIR'>;
  /** Standard input, for `--key-stdin`. */
  readonly input: AsyncIterable<Uint8Array | string>;
  /** Write text, as it is, to standard output and standard error. */
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/**
 * `gatehouse keys …`. Every failure that a person can mend is printed as one line and thrown as a CommanderError,
 * whose `exitCode` is the process'.
 */
export function keysCommand(context: KeysCommandContext): Command {
  const { out } = context;
  const keys = new Command('keys')
    .description('Make, list and revoke keys')
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: context.err });

  const withStore = (work: (store: KeyStore) => Promise<void>): Promise<void> =>
    attempt(keys, async () => {
      const store = openKeyStore(context.settings(), openLog('silent'));
      try {
        await store.opened(openLimitMs);
        await work(store);
      } finally {
        await store.close();
      }
    });

  keys
    .command('create')
    .description('Make a key; it is shown once')
    .requiredOption('--name <name>', 'who or what it is for: 1 to 64 printable characters')
    .option('--json', 'print {"id":…,"key":…}')
    .option('--key-stdin', 'take over a key of another service (32 hexadecimal digits) from standard input')
    .addHelpText(
      'after',
      '\nExamples:\n  gatehouse keys create --name alice\n  gatehouse keys create --name bob --json',
    )
    .action((options: { name: string; json?: true; keyStdin?: true }) =>
      withStore(async (store) => {
        const name = checkedName(options.name);
        const given = options.keyStdin ? await readKey(context.input) : undefined;
        const key = given ?? makeKey();
        const digest = digestOf(key);
        const id = keyIdOf(digest);
        if (!(await store.add(digest, { name, createdAt: new Date().toISOString() }))) {
          throw new Refusal(`This key is there already: gatehouse keys show ${id}`);
        }
        // A key that came from elsewhere is known there: it is not shown again.
        if (options.json) out(`${JSON.stringify(given === undefined ? { id, key } : { id })}\n`);
        else if (given === undefined) out(`Key ${id} for ${name}, shown only this once:\n\n${key}\n`);
        else out(`Key ${id} for ${name} taken over.\n`);
      }),
    );

  keys
    .command('list')
    .description('List all keys, revoked ones too')
    .option('--json', 'print an array of records on one line')
    .action((options: { json?: true }) =>
      withStore(async (store) => {
        const records = await store.list();
        if (options.json) out(`${JSON.stringify(records)}\n`);
        else if (records.length === 0) out('No keys yet. Make one: gatehouse keys create --name <name>\n');
        else out(tableOf(records));
      }),
    );

  keys
    .command('show')
    .description('Show what is known of a key')
    .argument('<id>', 'as `keys list` shows it')
    .option('--json', 'print the record on one line')
    .action((id: string, options: { json?: true }) =>
      withStore(async (store) => {
        const record = existing(id, await store.show(id));
        if (options.json) out(`${JSON.stringify(record)}\n`);
        else out(tableOf([record]));
      }),
    );

  keys
    .command('revoke')
    .description('End a key on all gateways, within a second')
    .argument('<id>', 'as `keys list` shows it')
    .action((id: string) =>
      withStore(async (store) => {
        const { name } = existing(id, await store.revoke(id));
        out(`Key ${id} (${name}) is revoked.\n`);
      }),
    );

  keys
    .command('import')
    .description('Carry the keys of the key file in DATA_DIR over to Redis')
    .action(() =>
      withStore(async (store) => {
        if (store.kind !== 'redis') throw new Refusal('keys import carries keys over to Redis: set REDIS_URL');
        out(await importKeys(context.settings().DATA_DIR, store));
      }),
    );

  return keys;
}

/** Something a person asked for that cannot be done; the message says why. */
class Refusal extends Error {}

async function attempt(command: Command, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof CommanderError) throw error;
    const known = [Refusal, KeyStoreError, SettingsError].some((kind) => error instanceof kind);
    // What the operating system says of a file (EACCES …) is one clear line, too.
    const ofSystem = error instanceof Error && 'syscall' in error;
    if (known || ofSystem) command.error((error as Error).message, { exitCode: 1, code: 'gatehouse.keys' });
    throw error;
  }
}

async function importKeys(dataDir: string, redis: KeyStore): Promise<string> {
  const file = new FileKeyStore(dataDir, openLog('silent'));
  try {
    const entries = file.entries();
    if (entries.length === 0) return `No keys in ${file.path}.\n`;
    const lasting = entries.filter(([, key]) => key.development !== true);
    let added = 0;
    for (const [digest, key] of lasting) if (await redis.add(digest, key)) added += 1;
    const there = lasting.length - added;
    const left = entries.length - lasting.length;
    return `Carried over to Redis: ${added}; there already: ${there}; development keys left out: ${left}.\n`;
  } finally {
    await file.close();
  }
}

function existing(id: string, record: KeyRecord | undefined): KeyRecord {
  if (record === undefined) throw new Refusal(`There is no key with the id ${id}: see gatehouse keys list`);
  return record;
}

function checkedName(name: string): string {
  const trimmed = name.trim();
  if (!/^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u.test(trimmed)) {
    throw new Refusal('--name: expected 1 to 64 printable characters');
  }
  return trimmed;
}

async function readKey(input: AsyncIterable<Uint8Array | string>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk));
  const key = Buffer.concat(chunks).toString().trim();
  if (!isWellFormedKey(key))
    throw new Refusal('--key-stdin: expected a key of 32 hexadecimal digits on standard input');
  return key;
}

function tableOf(records: KeyRecord[]): string {
  const rows = records.map((record) => [record.id, record.name, shortTime(record.createdAt), stateOf(record)]);
  const lines = [['ID', 'NAME', 'CREATED', 'STATE'], ...rows];
  const widthOf = (column: number): number => Math.max(...lines.map((cells) => cells[column]?.length ?? 0));
  const widths = [0, 1, 2, 3].map(widthOf);
  return lines
    .map(
      (cells) =>
        `${cells
          .map((cell, at) => cell.padEnd(widths[at] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function stateOf(record: KeyRecord): string {
  if (record.revokedAt !== undefined) return `revoked ${shortTime(record.revokedAt)}`;
  return record.development === true ? 'development' : 'live';
}

/** To the minute, in UTC. */
function shortTime(iso: string): string {
  return iso === '' ? '-' : `${iso.slice(0, 16).replace('T', ' ')}Z`;
}
