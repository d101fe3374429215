import { agentConditionTitle as title } from '@station/protocol/condition-titles-en';

/** What went wrong: conditions of the station, errors of requests. */
export const problems = {
  condition: {
    agent_open_on_network: {
      title: title.agent_open_on_network,
      help: 'An admin should set a token for it in the agent’s settings file, or let it listen on this machine only.',
    },
    clock_behind: {
      title: title.clock_behind,
      help: 'Secure connections may fail until it is right. It is set automatically once the internet is reachable.',
    },
    disk_space_low: {
      title: title.disk_space_low,
      help: 'Free some space on the station. The update is then tried again automatically.',
    },
    updates_unsigned: {
      title: title.updates_unsigned,
      help: 'Nothing proves where a new release comes from. An admin should set the publisher’s public key in the agent’s settings file. Until then, a release from an http:// address is only installed when you ask for it.',
    },
    agent_too_old: {
      title: title.agent_too_old,
      help: 'Run the install script on the station again. It keeps devices and settings.',
    },
    compose_not_linked: {
      title: title.compose_not_linked,
      help: 'The stack’s environment file could not be written. Check the permissions of its folder.',
    },
    compose_project_unreadable: {
      title: title.compose_project_unreadable,
      help: 'The reason is in the agent’s log and under the last error. Correct the compose file or its .env on the station; it is tried again automatically.',
    },
    engine_storage_failed: {
      title: title.engine_storage_failed,
      help: 'Restart the station. If this lasts, check its disk.',
    },
    engine_unreachable: {
      title: title.engine_unreachable,
      help: 'Updates wait until it does. If this lasts, restart the station.',
    },
    firmware_cache_not_writable: {
      title: title.firmware_cache_not_writable,
      help: 'Free some space on the station. What is already stored stays, and it is tried again automatically.',
    },
    firmware_manifest_rejected: {
      title: title.firmware_manifest_rejected,
      help: 'The faulty part was ignored. Its publisher has to correct it.',
    },
    firmware_manifest_unreachable: {
      title: title.firmware_manifest_unreachable,
      help: 'Nothing to do: the station asks again automatically. Devices keep their firmware.',
    },
    firmware_not_handed_over: {
      title: title.firmware_not_handed_over,
      help: 'An admin should check the address and token of the backend in the agent’s settings file. It is tried again automatically.',
    },
    firmware_refused: {
      title: title.firmware_refused,
      help: 'No device gets it. Its publisher has to correct it.',
    },
    hotspot_dns_port_taken: {
      title: title.hotspot_dns_port_taken,
      help: 'Another program on the station answers name queries (port 53). Stop it; the hotspot is tried again automatically.',
    },
    hotspot_failed: {
      title: title.hotspot_failed,
      help: 'Known networks and the hotspot are tried again automatically. A network cable works at once.',
    },
    image_damaged: {
      title: title.image_damaged,
      help: 'Connect the station to the internet: it fetches them again. Under the last error stands what else keeps it from that.',
    },
    internet_unreachable: {
      title: title.internet_unreachable,
      help: 'Everything at home works. Check the router; the station notices when the internet is back.',
    },
    network_manager_absent: {
      title: title.network_manager_absent,
      help: 'Wi-Fi stays as it is. If this lasts, restart the station.',
    },
    portal_port_taken: {
      title: title.portal_port_taken,
      help: 'Another program uses its port. Stop it, or choose another port in the agent’s settings file (admins only).',
    },
    wifi_blocked_hard: {
      title: title.wifi_blocked_hard,
      help: 'Turn on the switch on its case.',
    },
    wifi_blocked_soft: {
      title: title.wifi_blocked_soft,
      help: 'An admin should set the Wi-Fi country in the agent’s settings file, or turn Wi-Fi on with rfkill.',
    },
    wifi_country_unset: {
      title: title.wifi_country_unset,
      help: 'Some radios stay off without one. An admin can set it in the agent’s settings file.',
    },
    wifi_credentials_not_forwarded: {
      title: title.wifi_credentials_not_forwarded,
      help: 'Enter the network under Settings, or let an admin check the backend’s token in the agent’s settings file. It is tried again automatically.',
    },
    wifi_no_radio: {
      title: title.wifi_no_radio,
      help: 'Plug one in, or connect a cable.',
    },
    wifi_not_kept: {
      title: title.wifi_not_kept,
      help: 'Free some space before the station is switched off, or it has to be set up again. Storing is tried again while the station is in that network.',
    },
    wifi_state_not_writable: {
      title: title.wifi_state_not_writable,
      help: 'Free some space on the station. Wi-Fi keeps working meanwhile.',
    },
    wifi_unmanaged: {
      title: title.wifi_unmanaged,
      help: 'Let NetworkManager manage the Wi-Fi device.',
    },
    manifest_rejected: {
      title: title.manifest_rejected,
      help: 'It was ignored, and nothing changes. Its publisher has to correct it.',
    },
    manifest_unreachable: {
      title: title.manifest_unreachable,
      help: 'Nothing to do: the station asks again automatically. Everything else works without it.',
    },
    registry_auth_failed: {
      title: title.registry_auth_failed,
      help: 'An admin should check the registry’s user name and token in the agent’s settings file.',
    },
    registry_unreachable: {
      title: title.registry_unreachable,
      help: 'Nothing to do: the station tries again automatically. If this lasts, check the internet connection.',
    },
    release_failing: {
      title: title.release_failing,
      help: 'Its page cannot be shown, it crashes again and again, or it needs more memory than it may use. Roll back to the previous release.',
    },
    rollback_unavailable: {
      title: title.rollback_unavailable,
      help: 'A rollback would need the internet. The next update keeps one again.',
    },
    stack_unhealthy: {
      title: title.stack_unhealthy,
      help: 'The station keeps restarting them. If this lasts, roll back or restart the station.',
    },
    state_not_writable: {
      title: title.state_not_writable,
      help: 'Check that the disk is neither full nor read-only. Nothing is changed until then.',
    },
  },
  error: {
    code: 'Code',
    bad_request: 'The station did not understand the request. Reload the page and try again.',
    validation_failed: 'Something in the form is wrong. Check the marked fields.',
    version_invalid: 'This is not a valid version number. Check it and try again.',
    unauthorized: 'You are no longer logged in. Log in again.',
    access_ended: 'Your access has ended. Ask the owner of the station if you need it longer.',
    invalid_credentials: 'Wrong e-mail or password. Check both and try again.',
    session_expired: 'Your session has ended. Log in again.',
    passkey_unknown: 'The station does not accept this passkey. Log in with the password.',
    passkeys_unavailable: 'Passkeys work only on the encrypted page under the name of the station.',
    passkey_invalid: 'The passkey could not be added. Try again, and confirm within a few minutes.',
    forbidden: 'Your role does not allow this. Ask the owner of the station.',
    host_not_allowed: 'The station does not answer under this address. Use its usual one.',
    host_unknown: 'The station does not answer under this name. Use its address or its usual name.',
    origin_not_allowed: 'The request came from another site and was refused. Open the station’s own page.',
    setup_code_invalid: 'Wrong set-up code. Compare it with the one the station shows.',
    not_found: 'It is no longer there. Go back and look again.',
    method_not_allowed: 'The station does not offer this. Reload the page, it may be out of date.',
    conflict: 'Something else changed in the meantime. Check the current state and try again.',
    channel_not_set: 'This channel is not set up yet. An administrator can do that under Settings → Notifications.',
    device_offline: 'The device is offline. Check that it has power and is in range.',
    clock_not_set:
      'The system of the station did not accept the time. If it is connected to the internet, it sets its clock automatically.',
    update_in_progress: 'Another update is running. Wait until it has finished.',
    nothing_to_roll_back: 'There is no earlier release to go back to.',
    setup_already_done: 'This station is already set up. Log in instead.',
    restore_in_progress: 'A backup is being restored to this station. Wait until it has started again, then log in.',
    candidate_ambiguous: 'Several devices say that they are this one. Choose one in the list.',
    wifi_password_invalid:
      'This network cannot have this password. With WPA2 it has 8 to 63 characters, with WPA3 1 to 128. Look at it again.',
    no_wifi_credentials: 'The station knows no Wi-Fi network. Enter its name and password.',
    command_too_large: 'That is too long for this device. Shorten it and try again.',
    payload_too_large: 'That is too much at once. Shorten it and try again.',
    unsupported_media_type: 'The station cannot read this format. Reload the page, it may be out of date.',
    automation_invalid: 'This automation cannot run as it is. Open it and check what is marked.',
    too_many_changes: 'The value changed too often in this time. Choose a shorter one.',
    backup_refused: 'The station cannot do this with the backup.',
    version_not_derivable: 'This version is not in the release list. Choose one that is published.',
    version_not_signed: 'This version has no valid signature. Choose one that its publisher has signed.',
    too_many_requests: 'Too many attempts. Wait a little and try again.',
    tooManyWait: 'Too many attempts. Try again in {{duration}}.',
    internal: 'Something went wrong inside the station. Try again; if this lasts, check its log.',
    update_failed: 'The update failed. The previous release is still running.',
    update_rolled_back: 'The new release did not become healthy and was rolled back.',
    rollback_failed: 'The rollback failed. The station keeps trying.',
    agent_unreachable: 'The update service on the station does not answer. It usually comes back within a minute.',
    manifest_unavailable: 'The release server cannot be reached. Check the internet connection, or try again later.',
    manifest_rejected: 'The release list is not valid and was ignored. Try again once it is corrected.',
    registry_unavailable: 'The image registry cannot be reached. Check the internet connection, or try again later.',
    registry_busy: 'The image registry limits requests for now. Try again later.',
    registry_auth_failed: 'The image registry refused the credentials. Check them on the station.',
    image_missing: 'An image of this release does not exist. Choose another release.',
    shutting_down: 'The station is restarting. It will be back in a moment.',
    storage_full: 'The disk of the station is full, so nothing can be saved. Free some space, then try again.',
    storage_unwritable:
      'The station cannot write to its storage, so nothing can be saved. Check its disk or SD card, then try again.',
    storage_locked:
      'Another program has locked the database of the station, so nothing can be saved. Save or close what is open in it, then try again.',
    busy: 'The station is busy with other requests. Try again in a moment.',
    compose_project_unreadable: 'The files of the stack on the station cannot be read. The agent’s log says why.',
    unavailable: 'The station is not ready yet. Try again in a moment.',
    engine_storage_failed: 'The station cannot store the release. Restart it.',
    image_damaged: 'The station’s software is damaged on its disk. The last error says what helps.',
    disk_space_low: 'There is not enough free space. Free some and try again.',
    no_answer: 'The station does not answer. Check that it is switched on and that you are in its network.',
    timed_out: 'The station took too long to answer. Try again in a moment.',
    bad_answer: 'This page does not understand the station’s answer. Reload the page.',
    field: {
      required: 'Please fill this in.',
      email: 'This is not an e-mail address.',
      short: 'At least {{min}} characters.',
      number: 'A whole number from {{min}} to {{max}}.',
      refused: 'The station does not accept this. Please change it.',
    },
  },
} as const;
