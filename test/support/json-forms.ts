/** JSON of so many bytes, in each form. */
export function jsonForms(bytes: number): readonly (() => string)[] {
  const repeated = (piece: string): string => piece.repeat(bytes / piece.length);
  return [
    () => `[${repeated('{},')}1]`,
    () => `[${repeated('[],')}1]`,
    () => `[${repeated('"ab",')}1]`,
    () => `[${repeated('0,')}1]`,
    () => `[${repeated('{"a":[{}]},')}1]`,
    () => `{${Array.from({ length: bytes / 12 }, (_, index) => `"k${index}":1`).join()}}`,
    () => `{${repeated('"a":1,')}"a":1}`,
    () => `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`,
    () => `"0x${repeated('0')}"`,
    () => `"é${repeated('0')}"`,
    () => `[{"a":"é${repeated('0')}"}]`,
    () => `"${repeated('\\u0061')}"`,
    () => `{"${repeated('k')}":1}`,
    () => `1${repeated('0')}`,
    () => `[${repeated('true,null,')}-1.5e-7]`,
  ];
}

/** Responses of an upstream with a value at each place. */
export const placesOfValue: readonly ((id: unknown, value: string) => string)[] = [
  (id, value) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${value}}`,
  (id, value) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${reverted(value)}}`,
  (id, value) => `{"jsonrpc":"2.0","x":${value},"id":${JSON.stringify(id)},"result":"0x1"}`,
  (id, value) => `{"result":${value},"x":1,"id":${JSON.stringify(id)}}`,
  (_, value) => value,
];

function reverted(data: string): string {
  return `{"code":3,"message":"execution reverted","data":${data}}`;
}
