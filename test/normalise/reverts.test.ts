import { describe, expect, it } from 'vitest';
import { encodeReason } from '../../gateway/normalise/errors/revert-payload.ts';
import { normalise } from '../../gateway/normalise/normalise.ts';
import { passThrough } from '../../gateway/spec/method-spec.ts';
import { failed, finalError, finalResult, ofError, ofResult } from './normalised.ts';

const customError = '0xd3c6b2b7000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266';
const panic = `0x4e487b71${'0'.repeat(62)}11`;

describe('a revert', () => {
  it.each(['eth_estimateGas', 'zks_estimateFee'])('of %s has code 3, the reason and the payload', (method) => {
    const payload = encodeReason('no more');
    expect(ofError(method, 3, 'execution reverted: no more', payload)).toEqual(
      finalError(3, 'execution reverted: no more', payload),
    );
  });

  it.each([3, -32_000, -32_603, -32_015, 1, 0])('needs no code 3: %i', (code) => {
    expect(ofError('eth_estimateGas', code, 'execution reverted', '0x')).toEqual(
      finalError(3, 'execution reverted', '0x'),
    );
  });

  it.each([
    ['execution reverted: panic: arithmetic underflow or overflow (0x11)', 'arithmetic underflow or overflow'],
    ['execution reverted', 'arithmetic underflow or overflow'],
    ['Execution reverted (some words)', 'arithmetic underflow or overflow'],
    ['execution reverted: something else', 'arithmetic underflow or overflow'],
  ])('has geth’s message, made from the payload: %s', (message, reason) => {
    expect(ofError('eth_estimateGas', 3, message, panic)).toEqual(
      finalError(3, `execution reverted: ${reason}`, panic),
    );
  });

  it.each([
    'execution reverted: custom error 0xd3c6b2b7: …',
    'execution reverted: 0xd3c6b2b7',
    'execution reverted',
    'Execution reverted (ABI decode error)',
  ])('with a custom error that the node did not decode has no reason: %s', (message) => {
    expect(ofError('eth_estimateGas', 3, message, customError)).toEqual(
      finalError(3, 'execution reverted', customError),
    );
  });

  it.each([
    ['execution reverted: Unauthorized(7)', 'Unauthorized(7)'],
    ['execution reverted: Unauthorized', 'Unauthorized'],
    ['Execution reverted (Denied("rate limit exceeded", 1))', 'Denied("rate limit exceeded", 1)'],
    ["VM Exception while processing transaction: reverted with custom error 'Unauthorized(7)'", 'Unauthorized(7)'],
  ])('with a custom error that the node decoded has its name: %s', (message, name) => {
    expect(ofError('eth_estimateGas', -32_603, message, { data: customError })).toEqual(
      finalError(3, `execution reverted: ${name}`, customError),
    );
  });

  it('with an error of Solidity has the reason of the payload, whatever name the node gives', () => {
    expect(ofError('eth_call', 3, 'execution reverted: Unauthorized(7)', encodeReason('no more'))).toEqual(
      finalError(3, 'execution reverted: no more', encodeReason('no more')),
    );
  });

  it('with an empty reason keeps the space after the colon', () => {
    const payload = encodeReason('');
    expect(ofError('eth_estimateGas', 3, 'execution reverted', payload)).toEqual(
      finalError(3, 'execution reverted: ', payload),
    );
  });

  it.each([
    '  padded  ',
    'line1\nline2\r\n',
    '不足 💥',
    'execution reverted: again',
    '0x1234',
    '{"code":-32005}',
    'NUL\0',
  ])('has its reason unchanged: %j', (reason) => {
    const payload = encodeReason(reason);
    expect(ofError('eth_estimateGas', 3, 'execution reverted', payload)).toEqual(
      finalError(3, `execution reverted: ${reason}`, payload),
    );
  });
});

describe('a revert is recognised with any reason of a contract:', () => {
  it.each([
    'rate limit exceeded',
    'Too many requests',
    'header not found',
    'missing trie node',
    'transaction not found',
    'Resource not found',
    'out of gas',
    'gas required exceeds allowance (100)',
    'insufficient funds for gas * price + value',
    'nonce too low',
    'invalid opcode: INVALID',
    'the method foo does not exist/is not available',
    'Monthly capacity limit exceeded',
    'request timed out',
    'Reverted 0x08c379a0',
    'failed to validate the transaction. reason: Validation revert',
  ])('%s', (reason) => {
    const payload = encodeReason(reason);
    const expected = finalError(3, `execution reverted: ${reason}`, payload);
    expect(ofError('eth_estimateGas', 3, `execution reverted: ${reason}`, payload)).toEqual(expected);
    // The same without a payload.
    expect(ofError('eth_estimateGas', -32_000, `execution reverted: ${reason}`)).toMatchObject(expected);
  });
});

describe('the payload of a revert', () => {
  const payload = encodeReason('plain');

  it.each([
    ['as data itself', payload],
    ['in an object', { data: payload }],
    ['in an object with more in it', { message: 'Error: VM Exception', data: payload, txHash: '0x1' }],
  ])('is found %s', (_, data) => {
    expect(ofError('eth_estimateGas', 3, 'execution reverted', data)).toEqual(
      finalError(3, 'execution reverted: plain', payload),
    );
  });

  it.each([undefined, null, '', '0x', {}, { data: '' }, { data: null }, [], 7, 'plain', '0x123'])(
    'is made from the reason if the node returns %j',
    (data) => {
      expect(ofError('eth_estimateGas', 3, 'execution reverted: plain', data)).toMatchObject(
        finalError(3, 'execution reverted: plain', payload),
      );
    },
  );

  it.each([undefined, null, '', '0x', {}])('is empty without a reason: %j', (data) => {
    expect(ofError('eth_estimateGas', -32_000, 'execution reverted', data)).toMatchObject(
      finalError(3, 'execution reverted', '0x'),
    );
  });

  it('may be tens of megabytes', () => {
    const large = `0x${'ab'.repeat(15_000_000)}`;
    expect(ofError('eth_estimateGas', 3, 'execution reverted', large)).toEqual(
      finalError(3, 'execution reverted', large),
    );
    expect(ofError('eth_estimateGas', -32_000, 'out of gas', large)).toEqual(finalError(-32_000, 'out of gas', large));
    expect(ofResult('eth_call', large)).toEqual(finalResult(large));
    expect(ofResult('eth_call', `${large}0`)).toMatchObject(failed('malformed'));
  });

  it('is only searched to the depth that nodes use', () => {
    const depth = 200_000;
    const deep = JSON.parse(`${'{"data":'.repeat(depth)}"0xab"${'}'.repeat(depth)}`) as unknown;
    expect(ofError('eth_estimateGas', 3, 'execution reverted', deep)).toMatchObject(
      finalError(3, 'execution reverted', '0x'),
    );
  });
});

describe('a revert with an unknown text', () => {
  it.each(['out of gas', 'nonce too low', 'header not found', 'insufficient funds for transfer', 'no'])(
    'is recognised if the payload has the same text: %s',
    (reason) => {
      const payload = encodeReason(reason);
      const expected = finalError(3, `execution reverted: ${reason}`, payload);
      expect(ofError('eth_estimateGas', -32_000, reason, payload)).toEqual(expected);
      expect(ofError('eth_estimateGas', -32_603, 'Internal error', { message: reason, data: payload })).toEqual(
        expected,
      );
    },
  );

  it.each([encodeReason('no'), panic])('is recognised if the payload decodes: %s', (payload) => {
    expect(ofError('eth_estimateGas', -32_603, 'it went wrong', payload)).toMatchObject({
      response: { code: 3, data: payload },
    });
  });

  it('is recognised by code 3 and a payload with a selector', () => {
    expect(ofError('eth_estimateGas', 3, 'it went wrong', '0xd144d9e3')).toEqual(
      finalError(3, 'execution reverted', '0xd144d9e3'),
    );
    expect(ofError('eth_estimateGas', -32_000, 'it went wrong', '0xd144d9e3')).toMatchObject(failed('unknown'));
    expect(ofError('eth_estimateGas', 3, 'it went wrong', '0xd144d9')).toMatchObject(failed('unknown'));
  });

  it('may be the whole message of old nethermind: a guess, which is not final', () => {
    expect(ofError('eth_estimateGas', -32_015, 'mv')).toMatchObject({
      ...failed('unknown'),
      response: finalError(3, 'execution reverted: mv', encodeReason('mv')).response,
    });
    expect(ofError('eth_estimateGas', -32_015, '0xd144d9e3')).toEqual(
      finalError(3, 'execution reverted', '0xd144d9e3'),
    );
    expect(ofError('eth_estimateGas', -32_000, 'mv')).toMatchObject(failed('unknown'));
  });

  it.each([
    [3, 'failed to validate the transaction. reason: Validation revert: no', encodeReason('no')],
    [3, 'message execution failed (exit=[34], revert reason=[none], vm error=[x])', '0xd144d9e3'],
    [3, 'out of gas', encodeReason('something else')],
  ])('is not assumed if the text is another known error: %i %s', (code, message, data) => {
    expect(ofError('eth_estimateGas', code, message, data)).toEqual(finalError(-32_000, message));
  });

  it.each(['out of gas', 'VM execution error.', 'StackUnderflow'])(
    'is not assumed for a known halt with -32015: %s',
    (message) => {
      expect(ofError('eth_estimateGas', -32_015, message)).toEqual(finalError(-32_015, message));
    },
  );

  it('is not assumed for the error of a proxy with -32015', () => {
    expect(ofError('eth_estimateGas', -32_015, 'gateway timeout')).toMatchObject(failed('transport'));
  });
});

describe('an error that is not a revert never has code 3:', () => {
  it.each([
    'invalid opcode: INVALID',
    'invalid jump destination',
    'stack underflow (0 <=> 2)',
    'stack limit reached 1024 (1023)',
    'out of gas',
    'contract creation code storage out of gas',
    'write protection',
    'max code size exceeded',
    'invalid code: must not begin with 0xef',
    'gas required exceeds allowance (100000)',
    'gas required exceeds allowance (8000000) or always failing transaction',
    'Out of gas: gas required exceeds allowance: 100000',
    'intrinsic gas too low',
    'intrinsic gas too high -- CallGasCostMoreThanGasLimit',
    'insufficient funds for transfer',
    'insufficient funds for gas * price + value: address 0xaa have 0 want 1',
    'Insufficient funds for gas * price + value',
    'insufficient funds for gas + value. balance: 0, fee: 1, value: 1',
    'insufficient balance for transfer',
    'nonce too low. allowed nonce range: 5 - 55, actual: 2',
    'max fee per gas less than block base fee: address 0xaa',
    'failed with 30000000 gas: insufficient funds for gas * price + value',
    'failed to validate the transaction. reason: Validation revert: Failed to pay the fee to the operator',
    'Validation revert: Account validation error',
    'EVM error InvalidFEOpcode',
    'EVM error OutOfGas',
  ])('%s', (message) => {
    // It is final: every node returns the same.
    expect(ofError('eth_estimateGas', -32_000, message)).toEqual(finalError(-32_000, message));
    expect(ofError('eth_estimateGas', 3, message, '0x')).toEqual(finalError(-32_000, message));
    expect(ofError('zks_estimateFee', 3, message, '0xab')).toEqual(finalError(-32_000, message));
  });

  it.each(['transaction execution reverted', 'reverting', 'execution revertedly', 'EXECUTION', 'the reason: revert'])(
    'a text that only resembles a revert, %j, is an upstream failure',
    (message) => {
      expect(ofError('eth_estimateGas', 3, message, '0x')).toMatchObject({
        ...failed('unknown'),
        response: { code: -32_000, message, data: undefined },
      });
    },
  );

  it('the same text from a method that executes no code is unknown', () => {
    expect(ofError('eth_getStorageAt', 3, 'execution reverted', '0xab')).toMatchObject({
      ...failed('unknown'),
      response: { code: -32_000 },
    });
  });
});

describe('a revert of a transaction that a development node has mined', () => {
  it.each([
    [
      3,
      "VM Exception while processing transaction: reverted with reason string 'rate limit exceeded'",
      encodeReason('x'),
    ],
    [-32_000, 'VM Exception while processing transaction: revert rate limit exceeded', { hash: '0x1', result: '0x' }],
    [-32_603, 'Error: VM Exception while processing transaction: revert header not found', undefined],
  ])('is final: the transaction is not sent to another upstream: %i %s', (code, message, data) => {
    const { final, response } = ofError('eth_sendRawTransaction', code, message, data);
    expect({ final, response }).toMatchObject({ final: true, response: { kind: 'error', message } });
    expect(response).not.toMatchObject({ code: 3 });
  });
});

it('a trace with a revert is not a rate limit, whatever the reason is', () => {
  const response = {
    kind: 'error',
    code: -32_000,
    message: 'execution reverted: too many requests',
    data: undefined,
  } as const;
  expect(normalise(passThrough('debug_traceCall'), [], response)).toMatchObject({
    final: false,
    failure: 'unknown',
    response,
  });
});
