import { adminTokens } from './admin-tokens.ts';
import type { Attack } from './attack.ts';
import { discoverBatches } from './discover-batches.ts';
import { flood } from './flood.ts';
import { filledNode } from './filled-node.ts';
import { framing } from './framing.ts';
import { framingFloods } from './framing-floods.ts';
import { hostileUpstreams } from './hostile-upstream.ts';
import { invalidLogs } from './invalid-logs.ts';
import { ipv6Prefix } from './ipv6-prefix.ts';
import { junkFilters } from './junk-filters.ts';
import { largeSimulations } from './large-simulations.ts';
import { manyAddresses } from './many-addresses.ts';
import { manyChunkedBodies } from './many-chunked-bodies.ts';
import { manySubscriptions } from './many-subscriptions.ts';
import { manyMembers } from './many-members.ts';
import { manyValues } from './many-values.ts';
import { mixtureOfBuffers } from './mixture-of-buffers.ts';
import { mixtureOfSmallAttacks } from './mixture-of-small-attacks.ts';
import { mixtureOfTransports } from './mixture-of-transports.ts';
import { pingFlood } from './ping-flood.ts';
import { pipelinedDocument } from './pipelined-document.ts';
import { pipelinedReaders } from './pipelined-readers.ts';
import { provokedFailures } from './provoked-failures.ts';
import { publicAddresses } from './public-addresses.ts';
import { slowBodies } from './slow-bodies.ts';
import { slowCalls } from './slow-calls.ts';
import { slowReaders } from './slow-readers.ts';
import { steeredLimit } from './steered-limit.ts';
import { subscribedAddresses } from './subscribed-addresses.ts';
import { tinyFragments } from './tiny-fragments.ts';
import { tinyHeaders } from './tiny-headers.ts';
import { tinyMessages } from './tiny-messages.ts';
import { tinyRequestChunks } from './tiny-request-chunks.ts';
import { tinyResponseChunks } from './tiny-response-chunks.ts';
import { unknownKeys } from './unknown-keys.ts';
import { unreadResponses } from './unread-responses.ts';
import { unreadWebSockets } from './unread-web-sockets.ts';
import { unservableRanges } from './unservable-ranges.ts';

/** Attacks in the order of docs/measured/attacks.md. */
export const attacks: readonly Attack[] = [
  ...[unreadResponses, unreadWebSockets, slowBodies, slowReaders, tinyRequestChunks, tinyResponseChunks],
  ...[flood, slowCalls, filledNode, steeredLimit, pipelinedDocument, manyAddresses, publicAddresses, ipv6Prefix],
  ...[pipelinedReaders, provokedFailures],
  ...[junkFilters, tinyHeaders, tinyFragments, manyChunkedBodies, manySubscriptions, subscribedAddresses],
  ...[unservableRanges, largeSimulations],
  ...[discoverBatches, invalidLogs, pingFlood, tinyMessages, manyMembers, framing, unknownKeys, adminTokens],
  ...hostileUpstreams,
  manyValues,
  ...framingFloods,
  ...[mixtureOfBuffers, mixtureOfTransports, mixtureOfSmallAttacks],
];
