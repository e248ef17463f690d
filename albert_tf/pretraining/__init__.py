"""From TFRecords to a pretrained model directory."""
