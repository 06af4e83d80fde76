import { slowBodies } from './slow-bodies.ts';
import { slowReaders } from './slow-readers.ts';
import { tinyRequestChunks } from './tiny-request-chunks.ts';
import { tinyResponseChunks } from './tiny-response-chunks.ts';
import { unreadResponses } from './unread-responses.ts';
import { unreadWebSockets } from './unread-web-sockets.ts';
import { mixtureOf } from './mixture.ts';

export const mixtureOfBuffers = mixtureOf('mixture: all that is buffered', {
  parts: [unreadResponses, unreadWebSockets, slowBodies, slowReaders, tinyRequestChunks, tinyResponseChunks],
  bound: 'one memory budget for all transports, of which a key has a share',
  seconds: 15,
  key: {},
});
