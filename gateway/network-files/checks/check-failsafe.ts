import { suggest } from '../../config/suggest.ts';
import { formatPath, type Diagnostic, type Path } from '../diagnostics/diagnostic.ts';
import { coversMethod } from '../options/method-pattern.ts';
import type { networkOptions } from '../options/network-options.ts';
import type { ValuesOf } from '../options/option.ts';

type Checked = Pick<ValuesOf<typeof networkOptions>, 'failsafe' | 'upstreams'>;
type CheckedEntries = Checked['failsafe'];

interface Facts {
  readonly knownMethods: readonly string[];
  readonly needsUpstream?: ((method: string) => boolean) | undefined;
  readonly sendsTransactions?: ((method: string) => boolean) | undefined;
}

/**
 * Checks `failsafe` beyond the schema: each name is that of a method that is sent to upstreams, and a delay of
 * hedges has an effect. It is compared with `timeoutMs` of the same entry only: other entries and options may have another time.
 * @param served methods and wildcards
 */
export function checkFailsafe(network: Checked, served: readonly string[], options: Facts): Diagnostic[] {
  const sent = served.filter((method) => options.needsUpstream?.(method) !== false);
  return [
    ...checkEntries(network.failsafe, ['failsafe'], sent, options),
    ...network.upstreams.flatMap(({ failsafe = {} }, index) =>
      checkEntries(failsafe, ['upstreams', index, 'failsafe'], sent, options),
    ),
  ];
}

function checkEntries(entries: CheckedEntries, path: Path, sent: readonly string[], options: Facts): Diagnostic[] {
  return Object.entries(entries).flatMap(([pattern, { timeoutMs = Infinity, hedgeAfterMs = 'off' }]): Diagnostic[] => {
    const at = [...path, pattern];
    const matches = sent.filter((method) => coversMethod(pattern, method) || coversMethod(method, pattern));
    if (matches.length === 0) {
      const message = `${formatPath(at)} is no method that the network sends to upstreams${suggest(pattern, sent)}`;
      return [{ path: at, isAtName: true, isOfAll: true, message }];
    }
    if (hedgeAfterMs === 'off') return [];
    const atHedge = [...at, 'hedgeAfterMs'];
    const problem = !matches.some((method) => isHedged(method, options))
      ? 'only reads of methods with a schema are hedged; remove it'
      : hedgeAfterMs >= timeoutMs
        ? 'no hedge is sent, because the attempt ends after timeoutMs; write a shorter time'
        : undefined;
    return problem === undefined ? [] : [{ path: atHedge, message: `${formatPath(atHedge)}: ${problem}` }];
  });
}

function isHedged(method: string, { knownMethods, sendsTransactions }: Facts): boolean {
  return knownMethods.includes(method) && sendsTransactions?.(method) !== true;
}
