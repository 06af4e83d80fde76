import type { Socket } from 'node:net';
import { eventually } from '../../support/eventually.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';

/** The gateway's socket of a client's connection, once it is accepted and while it is open. Both are in this process. */
export function gatewaySocket({ localPort, remotePort }: Socket): Socket | undefined {
  if (localPort === undefined) return undefined;
  const handles = (process as unknown as { _getActiveHandles(): Partial<Socket>[] })._getActiveHandles();
  const own = handles.find((handle) => handle.localPort === remotePort && handle.remotePort === localPort);
  return own as Socket | undefined;
}

/** Waits until the gateway has read all bytes that a client has sent. */
export async function untilGatewayHasRead(client: Socket): Promise<void> {
  await eventually(() => gatewaySocket(client)?.bytesRead === client.bytesWritten);
}

/**
 * Bytes that the gateway buffers because the client does not read and the kernel's buffers are full. `writableLength`
 * would count a large write as unread until all of it is written.
 */
export function unreadBytes(client: Socket): number {
  const socket = gatewaySocket(client) as { _handle?: { writeQueueSize: number } | null } | undefined;
  return socket?._handle?.writeQueueSize ?? 0;
}

/** Waits until the kernel's buffers are full: the gateway buffers bytes, and their number is constant. */
export async function untilBuffersAreFull(client: Socket): Promise<void> {
  await eventually(async () => {
    const before = unreadBytes(client);
    await scenarioPause(100);
    return before > 0 && unreadBytes(client) === before;
  });
}
