import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { listenErrorText } from '../../gateway/cli/exit-code-for.ts';

const used = createServer();

afterEach(() => {
  used.close();
});

async function listenError(host: string, port: number): Promise<Error> {
  const [error] = (await once(createServer().listen(port, host), 'error').catch((error: unknown) => [error])) as [
    Error,
  ];
  return error;
}

it('names the setting of a port that is in use', async () => {
  await once(used.listen(0, '127.0.0.1'), 'listening');
  const { port } = used.address() as AddressInfo;
  const error = await listenError('127.0.0.1', port);
  const text = (setting: string): string => `port ${port} is in use: stop the other process, or set another ${setting}`;
  expect(listenErrorText(error, { OPS_PORT: undefined })).toBe(text('PORT'));
  expect(listenErrorText(error, { OPS_PORT: port })).toBe(text('OPS_PORT'));
});

it('names HOST for an address of another machine', async () => {
  const error = await listenError('192.0.2.1', 0);
  expect(listenErrorText(error, { OPS_PORT: undefined })).toBe('HOST: this machine has no address 192.0.2.1');
});

it('leaves other errors to others', () => {
  expect(listenErrorText(new Error('no'), { OPS_PORT: undefined })).toBeUndefined();
});
