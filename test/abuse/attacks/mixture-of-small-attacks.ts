import { adminTokens } from './admin-tokens.ts';
import { discoverBatches } from './discover-batches.ts';
import { framingBesideOthers } from './framing.ts';
import { invalidLogs } from './invalid-logs.ts';
import { pingFlood } from './ping-flood.ts';
import { pipelinedDocument } from './pipelined-document.ts';
import { mixtureOf } from './mixture.ts';

export const mixtureOfSmallAttacks = mixtureOf('mixture: what Gatehouse answers itself', {
  parts: [pipelinedDocument, discoverBatches, invalidLogs, pingFlood, framingBesideOthers, adminTokens],
  bound: 'the bounds of each',
  seconds: 15,
  key: { rate: 1 },
});
