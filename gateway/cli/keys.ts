import { Command } from 'commander';
import { importKeys } from '../backup/import-keys.ts';
import { SettingsError } from '../config/settings.ts';
import { keyIdOf } from '../auth/formats/key.ts';
import { readAuth } from '../auth/tokens/read-auth.ts';
import { subjectDigest } from '../auth/tokens/revocations.ts';
import { durationOf } from '../auth/formats/duration.ts';
import { mergePermissions } from '../auth/stores/key-store.ts';
import type { CreatedKey } from '../auth/manage/manage-keys.ts';
import { displayedRecord, shownTokenKeys } from '../auth/manage/displayed-record.ts';
import { originLike } from '../auth/formats/origin-pattern.ts';
import { entriesOf } from '../auth/permissions/field-formats.ts';
import { recordWithPlan, withPlan } from '../auth/permissions/plans.ts';
import type { PermissionTexts } from '../auth/permissions/permissions.ts';
import { kidPattern } from '../auth/permissions/token-keys.ts';
import { RevocationError } from '../auth/manage/key-operation-error.ts';
import { readFolder } from '../network-files/load-networks.ts';
import { namespaceOf } from '../network-files/options/method-pattern.ts';
import { rateWarnings } from '../spec/request-units.ts';
import { readUsage } from '../usage/usage-report.ts';
import { USAGE_RETENTION_DAYS } from '../usage/usage-store.ts';
import { listText, type ListOptions } from './columns.ts';
import { examples, withStores, type CommandContext } from './command-context.ts';
import { commandName } from './command-name.ts';
import { CommandError } from './exit-codes.ts';
import { chainIdLine, triedMethod } from './banner.ts';
import {
  addPermissionOptions,
  checkedName,
  checkNetworks,
  permissionsFrom,
  readDays,
  readKey,
  readPemFile,
} from './key-options.ts';
import { keyListText, secretTexts, permissionsText, usageText } from './show-keys.ts';

type UpdateOptions = { name?: string; json?: true; secret?: boolean; force?: true };

/** Makes the command `gatehouse keys …`. `exitCodeFor` prints its errors. */
export function keysCommand(context: CommandContext): Command {
  const { out } = context;
  const warn = (warning: string): void => {
    context.err(`warning: ${warning}\n`);
  };
  const keys = new Command('keys').description('Create, list, change and revoke keys');

  const issuerOfTokens = (): string => {
    const { NETWORKS_DIR: folder } = context.settings();
    const { issuer } = readAuth(readFolder(folder), false);
    if (issuer !== undefined) return issuer.issuer;
    throw new SettingsError([`auth.yaml in ${folder} has no issuer: subjects and token ids are those of an issuer`]);
  };
  const printResult = (result: CreatedKey, json: true | undefined, summary: string): void => {
    out(json ? `${JSON.stringify(result)}\n` : `${summary}${secretTexts(result)}\n`);
    for (const warning of result.warnings ?? []) warn(warning);
  };

  /** Prints a result with the URL of its key, the warnings, and a shell line that calls the URL. */
  const printNew = (
    result: CreatedKey,
    permissions: PermissionTexts,
    json: true | undefined,
    summary: string,
    warnings: readonly string[] = [],
  ): void => {
    const url = result.key === undefined ? undefined : context.callUrl(result.key, permissions['networks']);
    printResult({ ...result, ...(url !== undefined && { url }) }, json, summary);
    for (const warning of warnings) warn(warning);
    if (url !== undefined && !json) out(tryText(url, result.secret, permissions));
  };

  const create = keys
    .command('create')
    .description('Create a key; it is shown only once')
    .option('--name <name>', 'name of the user or application: 1 to 64 printable characters')
    .option('--json', 'print {"id":…,"key":…,"url":…}')
    .option(
      '--key-stdin',
      'read an existing key of another service (32 hexadecimal digits), and with --secret its secret, from standard input',
    );
  addPermissionOptions(create)
    .option('--secret', 'also require a new secret, as the password of Basic authentication; it is shown only once')
    .addHelpText(
      'after',
      '\nEntries are separated by commas.\n' +
        examples(
          'keys create --name alice',
          'keys create --name dapp --networks base,linea --origins app.example.org --rate 50 --daily 100000',
          'keys create --name backend --ips 10.0.0.0/8 --secret --json',
        ),
    )
    .action((options: { name?: string; json?: true; keyStdin?: true; secret?: true; force?: true }) => {
      // Not required by commander, which would report it before a misspelled option.
      if (options.name === undefined) throw new CommandError("error: required option '--name <name>' not specified");
      const name = checkedName(options.name);
      return withStores(context, async ({ manager, keys: { location } }) => {
        const { key: given, secret = options.secret } = options.keyStdin
          ? await readKey(context.input)
          : { key: undefined };
        if (typeof secret === 'string' && options.secret !== true)
          throw new CommandError('--key-stdin: a secret requires --secret');
        const permissions = mergePermissions(undefined, permissionsFrom(options));
        checkNetworks(permissions, context.settings().NETWORKS_DIR, options.force === true);
        const created = await manager.create(name, permissions, { given, secret });
        const summary = `Key ${created.id} for ${name}${given === undefined ? '' : ' added'} ${location}`;
        const own = withPlan(permissions, manager.plans);
        const { rate } = own;
        const warnings =
          rate === undefined
            ? ['the key has no rate limit; in production, set --rate']
            : rateWarnings(rate, context.lookupUnits());
        printNew(created, own, options.json, summary, warnings);
      });
    });

  keys
    .command('list')
    .description('List all keys, including revoked keys')
    .option('--team <name>', 'only the keys of this team')
    .option('--csv', 'print comma-separated values')
    .option('--json', 'print an array of records on one line')
    .addHelpText('after', examples('keys list', 'keys list --team acme --csv', 'keys list --json'))
    .action(({ team, ...format }: { team?: string } & ListOptions) =>
      withStores(context, async ({ manager }) => {
        const all = await manager.list();
        const records = all.filter(({ permissions }) => team === undefined || permissions?.['team'] === team);
        if (team !== undefined && records.length === 0 && !format.json && !format.csv) {
          throw new CommandError(`--team: no key has the team ${team}`);
        }
        const none = `There are no keys. Create one: ${commandName} keys create --name <name>\n`;
        out(keyListText(records, manager.plans, format, none));
      }),
    );

  keys
    .command('show')
    .description('Show the record of a key and its permissions')
    .argument('<id>', 'key id, from `keys list`')
    .option('--json', 'print the record on one line')
    .addHelpText('after', examples('keys show 0123456789ab', 'keys show 0123456789ab --json'))
    .action((id: string, options: { json?: true }) =>
      withStores(context, async ({ manager }) => {
        const record = await manager.show(id);
        if (options.json) out(`${JSON.stringify(displayedRecord(record, manager.plans))}\n`);
        else out(keyListText([record], manager.plans) + permissionsText(record, manager.plans));
      }),
    );

  addPermissionOptions(
    keys
      .command('update')
      .description(
        'Change permissions and limits of a key, on all gateways within a second; an empty value removes one',
      )
      .argument('<id>', 'key id, from `keys list`')
      .option('--json', 'print {"id":…} and the new secret, if any'),
  )
    .option('--name <name>', 'another name: 1 to 64 printable characters')
    .option('--secret', 'require a new secret, which replaces all others; it is shown only once')
    .option('--no-secret', 'require no secret')
    .addHelpText(
      'after',
      examples('keys update 0123456789ab --rate 20 --burst 100', 'keys update 0123456789ab --origins ""'),
    )
    .action((id: string, options: UpdateOptions) =>
      withStores(context, async ({ manager }) => {
        const change = permissionsFrom(options);
        const name = options.name === undefined ? undefined : checkedName(options.name);
        const isRenamedOnly = Object.keys(change).length === 0 && options.secret === undefined;
        if (isRenamedOnly && name === undefined) {
          throw new CommandError(`Nothing to change: see ${commandName} keys update --help`);
        }
        checkNetworks(change, context.settings().NETWORKS_DIR, options.force === true);
        const renamed = name === undefined ? undefined : await manager.rename(id, name);
        if (renamed !== undefined && isRenamedOnly) {
          printResult(renamed, options.json, `Key ${id} has the name ${name ?? ''}`);
          return;
        }
        printResult(await manager.update(id, change, options.secret), options.json, `Key ${id} is changed`);
        for (const warning of rateWarnings(change['rate'], context.lookupUnits())) warn(warning);
      }),
    );

  keys
    .command('rotate')
    .description('Create a new key with the same permissions and limits; the old key expires after a grace period')
    .argument('<id>', 'key id, from `keys list`')
    .option('--grace <time>', 'grace period of the old key or secret: 7d, 24h, 0m', '24h')
    .option('--secret', 'create a new secret instead; the key does not change')
    .option('--json', 'print the new key or secret')
    .addHelpText('after', examples('keys rotate 0123456789ab --grace 7d', 'keys rotate 0123456789ab --secret'))
    .action((id: string, options: { grace: string; secret?: true; json?: true }) =>
      withStores(context, async ({ manager }) => {
        const graceMs = durationOf(options.grace);
        if (graceMs === undefined) throw new CommandError('--grace: expected a duration such as 7d, 24h or 0m');
        // Read before: the new key is shown only once, whatever fails after it is made.
        const { permissions = {} } = recordWithPlan(await manager.show(id), manager.plans);
        const result = options.secret ? await manager.rotateSecret(id, graceMs) : await manager.rotate(id, graceMs);
        const subject = options.secret ? `New secret for key ${id}` : `Key ${result.id} replaces ${id}`;
        printNew(result, permissions, options.json, `${subject}; the old one expires in ${options.grace}`);
      }),
    );

  keys
    .command('revoke')
    .description('Revoke keys on all gateways, within a second')
    .argument('<id...>', 'key ids, from `keys list`')
    .option('--json', 'print each record on a line')
    .addHelpText('after', examples('keys revoke 0123456789ab', 'keys revoke 0123456789ab ba9876543210'))
    .action((ids: string[], options: { json?: true }) =>
      withStores(context, async ({ manager }) => {
        const { revoked, failed } = await manager.revokeAll(ids);
        for (const record of revoked) {
          if (options.json) out(`${JSON.stringify(displayedRecord(record, manager.plans))}\n`);
          else out(`Key ${record.id} (${record.name}) is revoked.\n`);
        }
        if (failed.length > 0) throw new RevocationError(failed);
      }),
    );

  keys
    .command('revoke-tokens')
    .description('Revoke JSON Web Tokens on all gateways, within a second: all of a subject, or one by its id')
    .option('--subject <sub>', 'claim `sub`: all tokens of this subject, also later ones')
    .option('--jti <id>', 'claim `jti`: one token')
    .option('--undo', 'remove the revocation')
    .option('--json', 'print the id, the issuer and the record on one line')
    .addHelpText(
      'after',
      `\nThe issuer is that of auth.yaml in NETWORKS_DIR.\n${examples(
        'keys revoke-tokens --subject user-17',
        'keys revoke-tokens --subject user-17 --undo',
      )}`,
    )
    .action(({ subject, jti, undo, json }: { subject?: string; jti?: string; undo?: true; json?: true }) =>
      withStores(context, async ({ manager }) => {
        const issuer = issuerOfTokens();
        if ((subject === undefined) === (jti === undefined)) throw new CommandError('Give one of --subject and --jti');
        const which = subject === undefined ? { tokenId: jti ?? '' } : { subject };
        const record = undo
          ? { id: await manager.allowTokens(issuer, which) }
          : displayedRecord(await manager.revokeTokens(issuer, which), manager.plans);
        const what = subject === undefined ? 'The token with this id' : 'Tokens of this subject';
        const outcome = undo ? 'not revoked any more' : 'revoked';
        const verb = subject === undefined ? 'is' : 'are';
        out(json ? `${JSON.stringify({ issuer, ...record })}\n` : `${what} of ${issuer} ${verb} ${outcome}.\n`);
      }),
    );

  const tokens = keys.command('tokens').description('Public keys of a key: tokens that they verify narrow it');
  tokens
    .command('add')
    .description('Register a public key with a key, at most three; tokens name it by its kid')
    .argument('<id>', 'key id, from `keys list`')
    .argument('<file>', 'PEM file of a public key: RSA (RS256) or EC on P-256 (ES256)')
    .requiredOption('--name <name>', 'name of the public key: 1 to 40 letters, digits and ._-')
    .option('--kid <kid>', 'kid that tokens have at another service: 32 hexadecimal digits; default: a new one')
    .option('--json', 'print {"kid":…} on one line')
    .addHelpText('after', examples('keys tokens add 0123456789ab public.pem --name ci --json'))
    .action((id: string, file: string, { name, json, kid: given }: { name: string; json?: true; kid?: string }) =>
      withStores(context, async ({ manager }) => {
        if (given !== undefined && !kidPattern.test(given))
          throw new CommandError('--kid: expected 32 hexadecimal digits, in lower case');
        if (!/^[\w.-]{1,40}$/.test(name)) throw new CommandError('--name: expected 1 to 40 letters, digits and ._-');
        const { kid } = await manager.addTokenKey(id, readPemFile(file), name, given);
        out(json ? `${JSON.stringify({ kid })}\n` : `Tokens for key ${id} with this kid are accepted: ${kid}\n`);
      }),
    );
  tokens
    .command('list')
    .description('List the public keys of a key')
    .argument('<id>', 'key id, from `keys list`')
    .option('--csv', 'print comma-separated values')
    .option('--json', 'print an array on one line')
    .action((id: string, format: ListOptions) =>
      withStores(context, async ({ manager }) => {
        const found = shownTokenKeys(await manager.show(id));
        const rows = found.map(({ kid, name, algorithm }) => [kid, name, algorithm]);
        out(listText(format, found, ['kid', 'name', 'algorithm'], rows));
      }),
    );
  tokens
    .command('remove')
    .description('Remove a public key: its tokens are rejected on all gateways within a second')
    .argument('<id>', 'key id, from `keys list`')
    .argument('<kid>', 'from `keys tokens list`')
    .action((id: string, kid: string) =>
      withStores(context, async ({ manager }) => {
        printResult(await manager.removeTokenKey(id, kid), undefined, `The public key is removed from key ${id}`);
      }),
    );

  keys
    .command('usage')
    .description('Show the usage of a key, team or subject of tokens by day, network and method')
    .argument('[id]', 'key id, from `keys list`, team:<name>, or public for calls without a key')
    .option('--subject <sub>', 'claim `sub` of tokens of the issuer in auth.yaml, in place of the id')
    .option('--rotated', 'add the usage of keys that the key replaced by rotation, and of those that replaced it')
    .option('--days <number>', `number of days, at most ${USAGE_RETENTION_DAYS}`, '30')
    .option('--csv', 'print comma-separated values')
    .option('--json', 'print an array of rows on one line')
    .addHelpText('after', examples('keys usage 0123456789ab --days 7 --csv', 'keys usage team:acme'))
    .action((id: string | undefined, options: { subject?: string; rotated?: true; days: string } & ListOptions) =>
      withStores(context, async ({ manager, usage }) => {
        const { subject } = options;
        if ((id === undefined) === (subject === undefined)) throw new CommandError('Give one of <id> and --subject');
        const days = readDays(options.days);
        const ids =
          subject === undefined
            ? await manager.idsOf(id ?? '', options.rotated)
            : [keyIdOf(subjectDigest(issuerOfTokens(), subject))];
        const rows = await readUsage(usage, ids, days);
        out(usageText(rows, options));
      }),
    );

  keys
    .command('import')
    .description('Copy the keys of the file in DATA_DIR to Redis; safe to repeat')
    .option('--json', 'print {"added":…,"there":…,"leftOut":…}')
    .addHelpText('after', examples('keys import', 'keys import --json'))
    .action((options: { json?: true }) =>
      withStores(context, async ({ manager, keys: stored }) => {
        const counts = await importKeys(context.settings().DATA_DIR, stored, manager);
        const { added, there, leftOut } = counts;
        const summary = `Copied to Redis: ${added}; already in Redis: ${there}; development keys skipped: ${leftOut}.`;
        out(`${options.json ? JSON.stringify(counts) : summary}\n`);
      }),
    );

  return keys;
}

/** The URL of a new key, and a shell line that calls it as the permissions allow. @param secret undefined: none, or not known */
function tryText(url: string, secret: string | undefined, permissions: PermissionTexts): string {
  const shown = `\nURL: ${url}\n`;
  const { origins, userAgents, methods } = permissions;
  const hasSecret = permissions['secrets'] !== undefined || secret !== undefined;
  const allowed = methods === undefined ? undefined : entriesOf(methods);
  if (allowed?.some((name) => name === triedMethod || name === namespaceOf(triedMethod)) === false) return shown;
  const options = [
    ...(hasSecret ? ['-u', `:${secret ?? '<secret>'}`] : []),
    ...(origins === undefined ? [] : ['-H', `origin: ${originLike(entriesOf(origins)[0] ?? '')}`]),
    ...(userAgents === undefined ? [] : ['-A', entriesOf(userAgents)[0] ?? '']),
  ];
  return `${shown}Try it:\n\n${chainIdLine(url, options)}\n`;
}
