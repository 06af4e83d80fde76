/** A defect in one compiled module, which the fuzzer must find. */
export interface Plant {
  readonly name: string;
  readonly target: TargetName;
  readonly module: string;
  /** Occurs once in the module. */
  readonly find: string;
  readonly put: string;
}

export type TargetName = 'http' | 'websocket' | 'upstream';

export const plants: readonly Plant[] = [
  {
    name: 'an id is serialised again: 1e3 becomes 1000',
    target: 'http',
    module: '/gateway/jsonrpc/call-texts.js',
    find: 'export function readCallTexts(',
    put: `export function readCallTexts(bytes, text, body) {
      return originalTexts(bytes, text, body).map((one) => ({ ...one, id: one.id && JSON.stringify(JSON.parse(one.id)) }));
    }
    function originalTexts(`,
  },
  {
    name: 'a message with an empty fragment has no response',
    target: 'websocket',
    module: '/gateway/server/websocket/session.js',
    find: "socket.on('message', (data) => {",
    put: `const receiver = socket._receiver;
    const { dataMessage } = receiver;
    receiver.dataMessage = function (then) {
      if (this._payloadLength === 0 && !this._fin) this.isLost = true;
      return dataMessage.call(this, then);
    };
    socket.on('message', (data) => {
      const { isLost } = receiver;
      receiver.isLost = false;
      if (isLost) return;`,
  },
  {
    name: 'a result of the wrong kind is passed on',
    target: 'upstream',
    module: '/gateway/normalise/results/check-result.js',
    find: 'if (!resultKinds.includes(kind))',
    put: 'if (false)',
  },
];
