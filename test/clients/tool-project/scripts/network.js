import hre from 'hardhat';

const { networkHelpers, ethers } = await hre.network.create();
const { time, mine, setBalance, takeSnapshot, impersonateAccount } = networkHelpers;
const stranger = '0x00000000000000000000000000000000000000aa';
const before = await time.latestBlock();
await mine(3);
const mined = (await time.latestBlock()) - before;
const snapshot = await takeSnapshot();
const now = await time.latest();
await time.increase(3600);
const elapsed = (await time.latest()) - now;
await impersonateAccount(stranger);
await setBalance(stranger, 10n ** 18n);
const signer = await ethers.getSigner(stranger);
const { status } = await (await signer.sendTransaction({ to: stranger, value: 1n })).wait();
await snapshot.restore();
const balance = Number(await ethers.provider.getBalance(stranger));
console.log(JSON.stringify({ mined, elapsed, status, restored: (await time.latest()) === now, balance }));
