import { expect, it } from 'vitest';
import { Chain } from '../../gateway/chain/chain.ts';
import { PermittedUpstreams } from '../../gateway/routing-policy/permitted-upstreams.ts';
import { Cancellation } from '../../gateway/upstreams/transport/cancellation.ts';
import type { Upstream } from '../../gateway/upstreams/upstream.ts';
import { AuditRequests } from '../../gateway/verify/evidence/audit-requests.ts';
import { Evidence, type Work } from '../../gateway/verify/evidence/evidence.ts';
import { hashedBlock } from './proofs/hashed-block.ts';

/** Members that no hash covers, as layers 2 have them: 44 kB. */
const unhashed = Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`own${at}`, `0x${'7'.repeat(3_900)}`]));
const HEADERS_OF_16_MB = 400;

const work: Work = {
  ...{ deadline: Infinity, owner: 'test', upstream: { name: 'node' } as Upstream, isEvidence: true },
  ...{ caller: new Cancellation(), take: () => undefined, charge: () => Promise.resolve() },
};

it('headers of all networks are counted with their real size, so that the oldest one leaves', async () => {
  const requested: unknown[] = [];
  const options = { isDevelopment: false, minLowerMs: 0, pauseMs: 0, inUseMs: 0, groupOf: () => '' };
  const open = (): Evidence =>
    new Evidence({
      chain: new Chain<Upstream>(options),
      requests: new AuditRequests([], new PermittedUpstreams<Upstream>({ methods: [], route: {} } as never, [])),
      isAlone: true,
      request: (_, [hash]) => {
        requested.push(hash);
        return Promise.resolve(undefined);
      },
    });
  const [one, other] = [open(), open()];
  const headers = Array.from({ length: HEADERS_OF_16_MB + 1 }, (_, number) =>
    hashedBlock(number, `0x${'11'.repeat(32)}`),
  );
  const [first, second] = headers.map(({ hash }) => hash) as [string, string];
  for (const [at, header] of headers.entries()) (at < 2 ? one : other).recordHeader({ ...header, ...unhashed });
  const last = String(headers.at(-1)?.hash);
  expect(await other.header(last, work)).toMatchObject({ hash: last });
  expect(requested).toEqual([]);
  await one.header(first, work);
  await one.header(second, work);
  // Evidence is that of its network.
  await one.header(last, work);
  expect(requested).toEqual([first, second, last]);
});
