import { buildModule } from '@nomicfoundation/hardhat-ignition/modules';

export default buildModule('Boxes', (m) => {
  const box = m.contract('Box');
  const initialized = m.call(box, 'initialize', [42]);
  const second = m.contract('BoxV2', [], { after: [initialized] });
  return { box, second };
});
