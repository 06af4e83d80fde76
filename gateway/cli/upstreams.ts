import { Command } from 'commander';
import { durationOf } from '../auth/formats/duration.ts';
import { suggest } from '../config/suggest.ts';
import { drainWarnings, newDrain, readDrains, removeDrain, storeDrain } from '../drains/drains.ts';
import { slugsIn } from '../network-files/load-networks.ts';
import { listText, shortTime, type ListOptions } from './columns.ts';
import { examples, withStores, type CommandContext } from './command-context.ts';
import { CommandError } from './exit-codes.ts';

/** Makes the command `gatehouse upstreams …`. Failures that an operator can fix are CommandErrors and StoreErrors. */
export function upstreamsCommand(context: CommandContext): Command {
  const { settings, networks, out, err } = context;
  const upstreams = new Command('upstreams').description('List upstreams, and take them out of service');

  const withStore = (work: Parameters<typeof withStores>[1]): Promise<void> => withStores(context, work, false);

  upstreams
    .command('list')
    .description('List the upstreams of the network files, and which are drained')
    .option('--csv', 'print comma-separated values')
    .option('--json', 'print an array on one line')
    .addHelpText('after', examples('upstreams list', 'upstreams list --json'))
    .action((format: ListOptions) =>
      withStore(async ({ store }) => {
        const drains = await readDrains(store);
        const all = networks().flatMap(({ slug, upstreams: own }) =>
          own.map(({ name }) => {
            const drain = drains.find(({ network, upstream }) => network === slug && upstream === name);
            return { network: slug, upstream: name, drain };
          }),
        );
        const rows = all.map(({ network, upstream, drain }) => [
          ...[network, upstream, drain === undefined ? 'in service' : `drained ${shortTime(drain.at)}`],
          ...[drain?.until && shortTime(drain.until), drain?.by],
        ]);
        out(listText(format, all, ['network', 'upstream', 'state', 'until', 'by'], rows));
      }),
    );

  upstreams
    .command('drain')
    .description('Take an upstream out of service on all gateways within two seconds, also after a restart')
    .argument('<network>', 'slug of the network')
    .argument('<name>', 'name of the upstream')
    .option('--for <time>', 'return it to service after this time: 30m, 1h, 7d')
    .option('--force', 'accept an upstream that no network file here has')
    .option('--json', 'print the drain on one line')
    .addHelpText('after', examples('upstreams drain base alchemy --for 1h', 'upstreams drain base alchemy'))
    .action((network: string, name: string, options: { for?: string; force?: true; json?: true }) =>
      withStore(async ({ store, manager }) => {
        const forMs = options.for === undefined ? undefined : durationOf(options.for);
        if (options.for !== undefined && (forMs === undefined || forMs === 0))
          throw new CommandError('--for: expected a duration such as 30m, 1h or 7d');
        const all = options.force === true ? [] : requireUpstream(network, name);
        const drain = newDrain(network, name, manager.by, forMs);
        const others = (await readDrains(store)).filter((other) => other.network === network);
        await storeDrain(store, drain);
        await manager.auditDrain('drain', network, name);
        const end =
          drain.until === undefined
            ? `until \`gatehouse upstreams undrain ${network} ${name}\``
            : `until ${shortTime(drain.until)}`;
        out(
          options.json ? `${JSON.stringify(drain)}\n` : `${name} of ${network} is drained ${end}, ${store.location}.\n`,
        );
        const inService = all.filter((each) => !others.some(({ upstream }) => upstream === each && each !== name));
        for (const warning of drainWarnings(drain, inService)) err(`warning: ${warning}\n`);
      }),
    );

  upstreams
    .command('undrain')
    .description('Return a drained upstream to service on all gateways within two seconds')
    .argument('<network>', 'slug of the network')
    .argument('<name>', 'name of the upstream')
    .option('--json', 'print {"network":…,"upstream":…,"wasDrained":…}')
    .addHelpText('after', examples('upstreams undrain base alchemy'))
    .action((network: string, name: string, { json }: { json?: true }) =>
      withStore(async ({ store, manager }) => {
        const wasDrained = await removeDrain(store, network, name);
        if (!wasDrained) requireUpstream(network, name);
        else await manager.auditDrain('undrain', network, name);
        const text = `${name} of ${network} ${wasDrained ? 'is in service again' : 'was not drained'}.\n`;
        out(json ? `${JSON.stringify({ network, upstream: name, wasDrained })}\n` : text);
      }),
    );

  /** A shell that shares only Redis with the gateways may have no network files. @returns the upstreams of the network @throws CommandError */
  const requireUpstream = (network: string, name: string): readonly string[] => {
    const slugs = slugsIn(settings().NETWORKS_DIR);
    if (slugs.length === 0) return [];
    if (!slugs.includes(network))
      throw new CommandError(`there is no network ${network}${suggest(network, slugs)} (--force accepts it)`);
    const names =
      networks()
        .find(({ slug }) => slug === network)
        ?.upstreams.map((upstream) => upstream.name) ?? [];
    if (!names.includes(name)) {
      const known = `its upstreams are ${names.join(', ')}`;
      throw new CommandError(
        `${network} has no upstream ${name}${suggest(name, names)}; ${known} (--force accepts it)`,
      );
    }
    return names;
  };

  return upstreams;
}
