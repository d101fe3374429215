/** What went wrong: conditions of the station, errors of requests. */
export const problems = {
  condition: {
    agent_open_on_network: {
      title: 'The update service is open to the network',
      help: 'Set AGENT_TOKEN, or let the agent listen on this machine only.',
    },
    clock_behind: {
      title: 'The clock is behind',
      help: 'Secure connections may fail until it is right. It sets itself once the internet is reachable.',
    },
    disk_space_low: {
      title: 'Not enough free space for the new release',
      help: 'Free some space on the station. The update is then tried again by itself.',
    },
    updates_unsigned: {
      title: 'Releases are not signed',
      help: 'Nothing proves where a new release comes from. Set UPDATE_PUBLIC_KEY on the station to the key of whoever publishes the releases. Until then, a release from an http:// address is only installed when you ask for it.',
    },
    agent_too_old: {
      title: 'The latest release needs a newer agent',
      help: 'Run the install script on the station again. It keeps devices and settings.',
    },
    compose_not_linked: {
      title: 'A hand-started stack would not keep this release',
      help: 'The stack’s environment file could not be written. Check the permissions of its folder.',
    },
    compose_project_unreadable: {
      title: 'The files of the stack cannot be read',
      help: 'Docker Compose says why in the agent’s log and under the last error. Mend the compose file or its .env on the station; it is tried again by itself.',
    },
    engine_storage_failed: {
      title: 'The container engine cannot store the new release',
      help: 'Restart the station. If it stays like this, check its disk.',
    },
    engine_unreachable: {
      title: 'The container engine does not answer',
      help: 'Updates wait until it does. If it stays like this, restart the station.',
    },
    firmware_cache_not_writable: {
      title: 'New firmware for devices cannot be stored',
      help: 'Free some space on the station. What is stored already stays, and it is tried again by itself.',
    },
    firmware_manifest_rejected: {
      title: 'The published firmware list is not valid',
      help: 'The faulty part was ignored. Whoever publishes the firmware has to correct it.',
    },
    firmware_manifest_unreachable: {
      title: 'The firmware server cannot be reached',
      help: 'Nothing to do: it is asked again by itself. Devices go on with what they have.',
    },
    firmware_not_handed_over: {
      title: 'Firmware is ready, but the backend does not take it',
      help: 'Check BACKEND_URL and BACKEND_AGENT_TOKEN on the station. It is tried again by itself.',
    },
    firmware_refused: {
      title: 'A published firmware is damaged',
      help: 'No device gets it. Whoever publishes the firmware has to correct it.',
    },
    hotspot_dns_port_taken: {
      title: 'The hotspot cannot answer phones',
      help: 'Another program on the station answers name queries (port 53). Stop it; the hotspot is tried again by itself.',
    },
    hotspot_failed: {
      title: 'The hotspot for the set-up could not be started',
      help: 'Known networks and the hotspot are tried again by themselves. A cable helps at once.',
    },
    internet_unreachable: {
      title: 'No internet',
      help: 'Everything at home works. Check the router; the station notices by itself when it is back.',
    },
    network_manager_absent: {
      title: 'The network service does not answer',
      help: 'Wi-Fi stays as it is. If it lasts, restart the station.',
    },
    portal_port_taken: {
      title: 'The Wi-Fi set-up page cannot be shown',
      help: 'Another program has its port. Stop it, or set PORTAL_PORT on the station.',
    },
    wifi_blocked_hard: {
      title: 'Wi-Fi is switched off at the device',
      help: 'Turn on the switch on its case.',
    },
    wifi_blocked_soft: {
      title: 'Wi-Fi is switched off',
      help: 'Set the country of the station (WIFI_COUNTRY), or switch Wi-Fi on with rfkill.',
    },
    wifi_country_unset: {
      title: 'No country is set for Wi-Fi',
      help: 'Some radios stay off without one. Set WIFI_COUNTRY on the station.',
    },
    wifi_credentials_not_forwarded: {
      title: 'New devices do not know the Wi-Fi yet',
      help: 'Enter the network under Settings, or check BACKEND_AGENT_TOKEN. It is tried again by itself.',
    },
    wifi_no_radio: {
      title: 'There is no Wi-Fi device',
      help: 'Plug one in, or connect a cable.',
    },
    wifi_not_kept: {
      title: 'The Wi-Fi network could not be stored',
      help: 'Free some space before the station is switched off, or it has to be set up again. Storing is tried again while the station is in that network.',
    },
    wifi_state_not_writable: {
      title: 'What Wi-Fi has to remember cannot be stored',
      help: 'Free some space on the station. It goes on without.',
    },
    wifi_unmanaged: {
      title: 'Wi-Fi is not in the station’s hands',
      help: 'Let NetworkManager manage the Wi-Fi device.',
    },
    manifest_rejected: {
      title: 'The published release list is not valid',
      help: 'It was ignored, and nothing changes. Whoever publishes the releases has to correct it.',
    },
    manifest_unreachable: {
      title: 'The release server cannot be reached',
      help: 'Nothing to do: it is asked again by itself. Everything else works without it.',
    },
    registry_auth_failed: {
      title: 'The image registry refused the credentials',
      help: 'Check CONTAINER_USERNAME and CONTAINER_TOKEN on the station.',
    },
    registry_unreachable: {
      title: 'The new release cannot be downloaded right now',
      help: 'Nothing to do: it is tried again by itself. Check the internet connection if it lasts.',
    },
    rollback_unavailable: {
      title: 'The release before is no longer on this station',
      help: 'Going back would need the internet. The next update keeps one again.',
    },
    stack_unhealthy: {
      title: 'The services do not pass their health check',
      help: 'The station keeps bringing them up. If it lasts, roll back or restart the station.',
    },
    state_not_writable: {
      title: 'The agent cannot save its state',
      help: 'Check that the disk is neither full nor read-only. Nothing is changed until then.',
    },
  },
  error: {
    code: 'Code',
    bad_request: 'The station did not understand the request. Load the page again and try once more.',
    validation_failed: 'Something in the form is not right. Look at the marked fields.',
    version_invalid: 'This is not a valid version number. Check it and try again.',
    unauthorized: 'You are no longer logged in. Log in again.',
    invalid_credentials: 'E-mail or password is not right. Check both and try again.',
    session_expired: 'Your session has ended. Log in again.',
    forbidden: 'Your role does not allow this. Ask the owner of the station.',
    host_not_allowed: 'The station does not answer under this address. Use its usual one.',
    host_unknown: 'The station does not answer under this name. Use its address or its usual name.',
    origin_not_allowed: 'The request came from another site and was refused. Open the station’s own page.',
    setup_code_invalid: 'The set-up code is not right. Compare it with the one the station shows.',
    not_found: 'It is not there any more. Go back and look again.',
    method_not_allowed: 'The station does not offer this. Load the page again, it may be out of date.',
    conflict: 'Something else changed in the meantime. Look at the present state and try again.',
    device_offline: 'The device is offline. Check that it has power and is in range.',
    clock_not_set:
      'The system of the station did not accept the time. If it is connected to the internet, it sets its clock automatically.',
    update_in_progress: 'Another update is under way. Wait until it has finished.',
    nothing_to_roll_back: 'There is no earlier release to go back to.',
    setup_already_done: 'This station is already set up. Log in instead.',
    no_wifi_credentials: 'The station knows no Wi-Fi network. Enter its name and password.',
    command_too_large: 'That is too long for this device. Shorten it and try again.',
    payload_too_large: 'That is too much at once. Shorten it and try again.',
    unsupported_media_type: 'The station cannot read this format. Load the page again, it may be out of date.',
    automation_invalid: 'This automation cannot run as it is. Open it and look at what is marked.',
    backup_refused: 'The station cannot do this with the backup.',
    version_not_derivable: 'This version cannot be found from the release list. Choose one that is published.',
    version_not_signed: 'This version has no valid signature. Choose one that the publisher has signed.',
    too_many_requests: 'Too many attempts. Wait a little and try again.',
    tooManyWait: 'Too many attempts. Try again in {{duration}}.',
    internal: 'Something went wrong inside the station. Try again; if it stays, look at its log.',
    update_failed: 'The update did not work. The release before is still running.',
    update_rolled_back: 'The new release did not become healthy and was rolled back.',
    rollback_failed: 'Going back did not work. The station keeps trying by itself.',
    agent_unreachable:
      'The update service on the station does not answer. It usually comes back by itself within a minute.',
    manifest_unavailable: 'The release server cannot be reached. Check the internet connection, or try again later.',
    manifest_rejected: 'The release list is not valid and was ignored. Try again once it is corrected.',
    registry_unavailable: 'The image registry cannot be reached. Check the internet connection, or try again later.',
    registry_auth_failed: 'The image registry refused the credentials. Check them on the station.',
    image_missing: 'An image of this release does not exist. Choose another release.',
    shutting_down: 'The station is just restarting. It will be back in a moment.',
    storage_full: 'The disk of the station is full, so nothing can be saved. Free some space, then try again.',
    storage_unwritable:
      'The station cannot write to its storage, so nothing can be saved. Check its disk or SD card, then try again.',
    busy: 'The station is busy with other requests. Try again in a moment.',
    compose_project_unreadable: 'The files of the stack on the station cannot be read. The agent’s log says why.',
    unavailable: 'The station is not ready yet. It will be in a moment.',
    engine_storage_failed: 'The station cannot store the release. Restart it.',
    disk_space_low: 'There is not enough free space. Free some and try again.',
    no_answer: 'The station does not answer. Check that it is switched on and that you are in its network.',
    timed_out: 'The station took too long to answer. Try again in a moment.',
    bad_answer: 'The station gave an answer this page does not understand. Load the page again.',
    field: {
      required: 'Please fill this in.',
      email: 'This is not an e-mail address.',
      short: 'At least {{min}} characters.',
      refused: 'The station does not accept this. Please change it.',
    },
  },
} as const;
