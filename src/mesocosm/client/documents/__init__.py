"""The JSON shapes that programs exchange with a platform, one file per resource. Unknown keys are ignored."""
