// SPDX-License-Identifier: MIT
// The contracts of the demo chain. `demo-contracts.ts` has the compiled code and the compiler settings; change both.
pragma solidity ^0.8.20;

/// Storage to read, a function that writes it, and an event.
contract Counter {
    uint256 public number; // slot 0
    mapping(address => uint256) public setBy; // slot 1: what each caller set last

    event NumberSet(address indexed by, uint256 number);

    function set(uint256 to) external {
        number = to;
        setBy[msg.sender] = to;
        emit NumberSet(msg.sender, to);
    }
}

/// One function for each way in which a contract can revert.
contract Gate {
    uint256 private visitors; // slot 0, always 0

    error NotInvited(address visitor);

    function open() external pure {
        revert("the gate is closed"); // Error(string)
    }

    function exit() external {
        visitors -= 1; // Panic(0x11): arithmetic underflow
    }

    function enter() external view {
        revert NotInvited(msg.sender); // custom error
    }

    function push() external pure {
        revert(); // no payload at all
    }
}
