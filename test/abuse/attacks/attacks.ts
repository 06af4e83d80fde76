import { adminTokens } from './admin-tokens.ts';
import type { Attack } from './attack.ts';
import { discoverBatches } from './discover-batches.ts';
import { flood } from './flood.ts';
import { framing } from './framing.ts';
import { invalidLogs } from './invalid-logs.ts';
import { manyAddresses } from './many-addresses.ts';
import { mixtureOfBuffers } from './mixture-of-buffers.ts';
import { mixtureOfSmallAttacks } from './mixture-of-small-attacks.ts';
import { mixtureOfTransports } from './mixture-of-transports.ts';
import { pingFlood } from './ping-flood.ts';
import { pipelinedDocument } from './pipelined-document.ts';
import { pipelinedReaders } from './pipelined-readers.ts';
import { slowBodies } from './slow-bodies.ts';
import { slowReaders } from './slow-readers.ts';
import { tinyRequestChunks } from './tiny-request-chunks.ts';
import { tinyResponseChunks } from './tiny-response-chunks.ts';
import { unknownKeys } from './unknown-keys.ts';
import { unreadResponses } from './unread-responses.ts';
import { unreadWebSockets } from './unread-web-sockets.ts';

/** In the order of docs/security.md. */
export const attacks: readonly Attack[] = [
  ...[unreadResponses, unreadWebSockets, slowBodies, slowReaders, tinyRequestChunks, tinyResponseChunks],
  ...[flood, pipelinedDocument, manyAddresses, pipelinedReaders],
  ...[discoverBatches, invalidLogs, pingFlood, framing, unknownKeys, adminTokens],
  ...[mixtureOfBuffers, mixtureOfTransports, mixtureOfSmallAttacks],
];
